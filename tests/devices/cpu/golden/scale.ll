define internal i32 @"kernel_0.body"(ptr %".1") noinline nounwind
{
slots:
  %".92" = alloca i64
  %".91" = alloca i64
  %".90" = alloca i64
  %".89" = alloca i1
  %".88" = alloca i32
  %".87" = alloca i32
  %".86" = alloca i32
  %".85" = alloca i32
  %".84" = alloca i32
  %".83" = alloca i64
  %".70" = alloca i64
  %".61" = alloca i32
  %".59" = alloca i32
  %".56" = alloca i32
  %".53" = alloca i32
  %".34" = alloca i32
  %".31" = alloca i32
  %".28" = alloca i32
  %".15" = alloca i64
  %".12" = alloca [48 x i8]
  %".9" = alloca i32
  %".8" = alloca i32
  %".7" = alloca i32
  %".6" = alloca i32
  %".5" = alloca i32
  %".4" = alloca i32
  br label %"entry"
entry:
  %".10" = getelementptr i8, ptr %".1", i64 64
  %".11" = load ptr, ptr %".10", align 8
  %".13" = getelementptr i8, ptr %".1", i64 136
  %".14" = load i64, ptr %".13", align 8
  %".17" = getelementptr i8, ptr %".1", i64 88
  %".18" = load i32, ptr %".17", align 8, !range !0
  %".20" = getelementptr i8, ptr %".1", i64 96
  %".21" = load i32, ptr %".20", align 8, !range !0
  %".38" = getelementptr i8, ptr %".1", i64 144
  %".39" = load i64, ptr %".38", align 8
  %".45" = getelementptr i8, ptr %".1", i64 112
  %".46" = load i32, ptr %".45", align 8, !range !1
  %".47" = getelementptr i8, ptr %".1", i64 120
  %".48" = load i32, ptr %".47", align 8, !range !1
  %".49" = getelementptr i8, ptr %".1", i64 128
  %".50" = load i32, ptr %".49", align 8, !range !1
  %".51" = mul i32 %".48", %".50"
  %".52" = mul i32 %".46", %".51"
  %".104" = load ptr, ptr %".1", align 8
  %".105" = load i64, ptr %".104", align 8
  %".107" = getelementptr i8, ptr %".104", i64 8
  %".108" = load i32, ptr %".107", align 4
  %".138" = load i64, ptr %".104", align 1
  %".139" = getelementptr i8, ptr %".1", i64 16
  %".140" = load ptr, ptr %".139", align 8
  %".141" = getelementptr i8, ptr %".1", i64 24
  %".142" = load i64, ptr %".141", align 8
  %".143" = lshr i64 %".138", 40
  %".144" = mul i64 %".143", 2557247
  %".145" = and i64 %".144", 4194303
  %".146" = icmp ult i64 %".145", %".142"
  %".147" = select  i1 %".146", i64 %".145", i64 0
  %".148" = shl i64 %".147", 5
  %".149" = getelementptr i8, ptr %".140", i64 %".148"
  %".150" = load ptr, ptr %".149"
  %".151" = getelementptr i8, ptr %".149", i64 8
  %".152" = load i64, ptr %".151"
  %".153" = getelementptr i8, ptr %".149", i64 16
  %".154" = load i64, ptr %".153"
  %".157" = lshr i64 %".152", 2
  br label %"first_block"
first_block:
  store i64 %".14", ptr %".15"
  %".19" = zext i32 %".18" to i64
  %".22" = zext i32 %".21" to i64
  %".23" = udiv i64 %".14", %".19"
  %".24" = urem i64 %".14", %".19"
  %".25" = urem i64 %".23", %".22"
  %".26" = udiv i64 %".23", %".22"
  %".27" = trunc i64 %".24" to i32
  store i32 %".27", ptr %".28"
  %".30" = trunc i64 %".25" to i32
  store i32 %".30", ptr %".31"
  %".33" = trunc i64 %".26" to i32
  store i32 %".33", ptr %".34"
  br label %"block"
block:
  %".37" = load i64, ptr %".15"
  %".40" = icmp ult i64 %".37", %".39"
  br i1 %".40", label %"block_body", label %"end"
block_body:
  %".42" = load i32, ptr %".28"
  %".43" = load i32, ptr %".31"
  %".44" = load i32, ptr %".34"
  store i32 0, ptr %".53"
  br label %"region1"
end:
  ret i32 0
next_block:
  %".222" = load i64, ptr %".15"
  %".223" = add i64 %".222", 1
  store i64 %".223", ptr %".15"
  %".225" = load i32, ptr %".28"
  %".226" = add i32 %".225", 1
  store i32 %".226", ptr %".28"
  %".228" = icmp eq i32 %".226", %".18"
  br i1 %".228", label %"next_block.if", label %"next_block.endif"
region1:
  store i32 0, ptr %".56"
  store i32 0, ptr %".56"
  store i32 0, ptr %".59"
  store i32 0, ptr %".61"
  store i32 0, ptr %".59"
  br label %"tid_z"
tid_z:
  store i32 0, ptr %".61"
  br label %"tid_y"
tid_y:
  %".67" = load i32, ptr %".56"
  %".68" = load i32, ptr %".59"
  %".69" = load i32, ptr %".61"
  store i64 0, ptr %".70"
  store i64 0, ptr %".70"
  br label %"thread"
row_done:
  %".211" = load i32, ptr %".61"
  %".212" = add i32 %".211", 1
  store i32 %".212", ptr %".61"
  %".214" = icmp ult i32 %".212", %".48"
  br i1 %".214", label %"tid_y", label %"tid_y_done"
thread:
  %".74" = load i64, ptr %".70"
  %".75" = trunc i64 %".74" to i32
  %".76" = add nuw nsw i32 %".67", %".75"
  store i32 %".75", ptr %".4"
  store i32 %".69", ptr %".5"
  store i32 %".68", ptr %".6"
  store i32 %".42", ptr %".7"
  store i32 %".43", ptr %".8"
  store i32 %".44", ptr %".9"
  store i64 0, ptr %".83"
  store i32 0, ptr %".84"
  store i32 0, ptr %".85"
  store i32 0, ptr %".86"
  store i32 0, ptr %".87"
  store i32 0, ptr %".88"
  store i1 0, ptr %".89"
  store i64 0, ptr %".90"
  store i64 0, ptr %".91"
  store i64 0, ptr %".92"
  br label %"b0"
next_thread:
  %".204" = add nuw nsw i64 %".74", 1
  store i64 %".204", ptr %".70"
  %".206" = add nuw nsw i32 %".76", 1
  store i32 %".206", ptr %".56"
  %".208" = zext i32 %".46" to i64
  %".209" = icmp ult i64 %".204", %".208"
  br i1 %".209", label %"thread", label %"row_done"
b0:
  store i64 %".105", ptr %".83"
  store i32 %".108", ptr %".84"
  store i32 %".42", ptr %".85"
  store i32 %".46", ptr %".86"
  store i32 %".75", ptr %".87"
  %".113" = load i32, ptr %".85"
  %".114" = load i32, ptr %".86"
  %".115" = mul i32 %".113", %".114"
  %".116" = load i32, ptr %".87"
  %".117" = add i32 %".115", %".116"
  store i32 %".117", ptr %".88"
  %".119" = load i32, ptr %".88"
  %".120" = load i32, ptr %".84"
  %".121" = icmp sge i32 %".119", %".120"
  %".122" = xor i1 %".121", -1
  store i1 %".121", ptr %".89"
  %".124" = load i1, ptr %".89"
  br i1 %".124", label %"b2", label %"b1"
b2:
  store i32 0, ptr %".53"
  br label %"next_thread"
b1:
  %".126" = load i64, ptr %".83"
  store i64 %".126", ptr %".90"
  %".128" = load i32, ptr %".88"
  %".129" = sext i32 %".128" to i64
  %".130" = sext i32 4 to i64
  %".131" = mul i64 %".129", %".130"
  store i64 %".131", ptr %".91"
  %".133" = load i64, ptr %".90"
  %".134" = load i64, ptr %".91"
  %".135" = add i64 %".133", %".134"
  store i64 %".135", ptr %".92"
  %".137" = load i64, ptr %".92"
  %".155" = sub i64 %".137", %".154"
  %".156" = call i64 @"llvm.fshr.i64"(i64 %".155", i64 %".155", i64 2)
  %".158" = icmp ult i64 %".156", %".157"
  br i1 %".158", label %"fast", label %"slow", !prof !2
fast:
  %".160" = getelementptr i8, ptr %".150", i64 %".155"
  br label %"after"
slow:
  %".162" = call ptr @"resolve_global"(ptr %".1", ptr %".11", i64 %".137", i64 4, i64 0)
  %".163" = icmp eq ptr %".162", null
  br i1 %".163", label %"fault", label %"after", !prof !3
after:
  %".190" = phi  ptr [%".160", %"fast"], [%".162", %"slow"]
  %".191" = load i32, ptr %".190", align 4
  store i32 %".191", ptr %".85"
  %".193" = load i32, ptr %".85"
  %".194" = call i32 @"llvm.umin.i32"(i32 1, i32 31)
  %".195" = shl i32 %".193", %".194"
  %".196" = icmp ult i32 1, 32
  %".197" = select  i1 %".196", i32 %".195", i32 0
  store i32 %".197", ptr %".85"
  %".199" = load i32, ptr %".85"
  store i32 %".199", ptr %".190", align 4
  br label %"b2"
fault:
  %".164" = load i32, ptr %".4"
  %".165" = zext i32 %".164" to i64
  %".166" = getelementptr i8, ptr %".1", i64 192
  store i64 %".165", ptr %".166", align 8
  %".168" = load i32, ptr %".5"
  %".169" = zext i32 %".168" to i64
  %".170" = getelementptr i8, ptr %".1", i64 200
  store i64 %".169", ptr %".170", align 8
  %".172" = load i32, ptr %".6"
  %".173" = zext i32 %".172" to i64
  %".174" = getelementptr i8, ptr %".1", i64 208
  store i64 %".173", ptr %".174", align 8
  %".176" = load i32, ptr %".7"
  %".177" = zext i32 %".176" to i64
  %".178" = getelementptr i8, ptr %".1", i64 216
  store i64 %".177", ptr %".178", align 8
  %".180" = load i32, ptr %".8"
  %".181" = zext i32 %".180" to i64
  %".182" = getelementptr i8, ptr %".1", i64 224
  store i64 %".181", ptr %".182", align 8
  %".184" = load i32, ptr %".9"
  %".185" = zext i32 %".184" to i64
  %".186" = getelementptr i8, ptr %".1", i64 232
  store i64 %".185", ptr %".186", align 8
  ret i32 1
tid_y_done:
  %".216" = load i32, ptr %".59"
  %".217" = add i32 %".216", 1
  store i32 %".217", ptr %".59"
  %".219" = icmp ult i32 %".217", %".50"
  br i1 %".219", label %"tid_z", label %"tid_z_done"
tid_z_done:
  br label %"next_block"
next_block.if:
  store i32 0, ptr %".28"
  %".231" = load i32, ptr %".31"
  %".232" = add i32 %".231", 1
  store i32 %".232", ptr %".31"
  %".234" = icmp eq i32 %".232", %".21"
  br i1 %".234", label %"next_block.if.if", label %"next_block.if.endif"
next_block.endif:
  br label %"block"
next_block.if.if:
  store i32 0, ptr %".31"
  %".237" = load i32, ptr %".34"
  %".238" = add i32 %".237", 1
  store i32 %".238", ptr %".34"
  br label %"next_block.if.endif"
next_block.if.endif:
  br label %"next_block.endif"
}
