define internal i32 @"kernel_0.body"(ptr %".1") noinline nounwind
{
slots:
  %".93" = alloca i64
  %".92" = alloca i64
  %".91" = alloca i64
  %".90" = alloca i1
  %".89" = alloca i32
  %".88" = alloca i32
  %".87" = alloca i32
  %".86" = alloca i32
  %".85" = alloca i32
  %".84" = alloca i64
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
  %".105" = load ptr, ptr %".1", align 8
  %".106" = load i64, ptr %".105", align 8
  %".108" = getelementptr i8, ptr %".105", i64 8
  %".109" = load i32, ptr %".108", align 4
  %".139" = load i64, ptr %".105", align 1
  %".140" = getelementptr i8, ptr %".1", i64 16
  %".141" = load ptr, ptr %".140", align 8
  %".142" = getelementptr i8, ptr %".1", i64 24
  %".143" = load i64, ptr %".142", align 8
  %".144" = lshr i64 %".139", 40
  %".145" = mul i64 %".144", 2557247
  %".146" = and i64 %".145", 4194303
  %".147" = icmp ult i64 %".146", %".143"
  %".148" = select  i1 %".147", i64 %".146", i64 0
  %".149" = shl i64 %".148", 5
  %".150" = getelementptr i8, ptr %".141", i64 %".149"
  %".151" = load ptr, ptr %".150"
  %".152" = getelementptr i8, ptr %".150", i64 8
  %".153" = load i64, ptr %".152"
  %".154" = getelementptr i8, ptr %".150", i64 16
  %".155" = load i64, ptr %".154"
  %".158" = lshr i64 %".153", 2
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
  %".67" = load i32, ptr %".59"
  %".68" = load i32, ptr %".61"
  %".69" = load i32, ptr %".56"
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
  %".75" = zext i32 %".46" to i64
  %".76" = trunc i64 %".74" to i32
  %".77" = add nuw nsw i32 %".69", %".76"
  store i32 %".76", ptr %".4"
  store i32 %".68", ptr %".5"
  store i32 %".67", ptr %".6"
  store i32 %".42", ptr %".7"
  store i32 %".43", ptr %".8"
  store i32 %".44", ptr %".9"
  store i64 0, ptr %".84"
  store i32 0, ptr %".85"
  store i32 0, ptr %".86"
  store i32 0, ptr %".87"
  store i32 0, ptr %".88"
  store i32 0, ptr %".89"
  store i1 0, ptr %".90"
  store i64 0, ptr %".91"
  store i64 0, ptr %".92"
  store i64 0, ptr %".93"
  br label %"b0"
next_thread:
  %".205" = add nuw nsw i64 %".74", 1
  store i64 %".205", ptr %".70"
  %".207" = add nuw nsw i32 %".77", 1
  store i32 %".207", ptr %".56"
  %".209" = icmp ult i64 %".205", %".75"
  br i1 %".209", label %"thread", label %"row_done"
b0:
  store i64 %".106", ptr %".84"
  store i32 %".109", ptr %".85"
  store i32 %".42", ptr %".86"
  store i32 %".46", ptr %".87"
  store i32 %".76", ptr %".88"
  %".114" = load i32, ptr %".86"
  %".115" = load i32, ptr %".87"
  %".116" = mul i32 %".114", %".115"
  %".117" = load i32, ptr %".88"
  %".118" = add i32 %".116", %".117"
  store i32 %".118", ptr %".89"
  %".120" = load i32, ptr %".89"
  %".121" = load i32, ptr %".85"
  %".122" = icmp sge i32 %".120", %".121"
  %".123" = xor i1 %".122", -1
  store i1 %".122", ptr %".90"
  %".125" = load i1, ptr %".90"
  br i1 %".125", label %"b2", label %"b1"
b2:
  store i32 0, ptr %".53"
  br label %"next_thread"
b1:
  %".127" = load i64, ptr %".84"
  store i64 %".127", ptr %".91"
  %".129" = load i32, ptr %".89"
  %".130" = sext i32 %".129" to i64
  %".131" = sext i32 4 to i64
  %".132" = mul i64 %".130", %".131"
  store i64 %".132", ptr %".92"
  %".134" = load i64, ptr %".91"
  %".135" = load i64, ptr %".92"
  %".136" = add i64 %".134", %".135"
  store i64 %".136", ptr %".93"
  %".138" = load i64, ptr %".93"
  %".156" = sub i64 %".138", %".155"
  %".157" = call i64 @"llvm.fshr.i64"(i64 %".156", i64 %".156", i64 2)
  %".159" = icmp ult i64 %".157", %".158"
  br i1 %".159", label %"fast", label %"slow", !prof !2
fast:
  %".161" = getelementptr i8, ptr %".151", i64 %".156"
  br label %"after"
slow:
  %".163" = call ptr @"resolve_global"(ptr %".1", ptr %".11", i64 %".138", i64 4, i64 0)
  %".164" = icmp eq ptr %".163", null
  br i1 %".164", label %"fault", label %"after", !prof !3
after:
  %".191" = phi  ptr [%".161", %"fast"], [%".163", %"slow"]
  %".192" = load i32, ptr %".191", align 4
  store i32 %".192", ptr %".86"
  %".194" = load i32, ptr %".86"
  %".195" = call i32 @"llvm.umin.i32"(i32 1, i32 31)
  %".196" = shl i32 %".194", %".195"
  %".197" = icmp ult i32 1, 32
  %".198" = select  i1 %".197", i32 %".196", i32 0
  store i32 %".198", ptr %".86"
  %".200" = load i32, ptr %".86"
  store i32 %".200", ptr %".191", align 4
  br label %"b2"
fault:
  %".165" = load i32, ptr %".4"
  %".166" = zext i32 %".165" to i64
  %".167" = getelementptr i8, ptr %".1", i64 192
  store i64 %".166", ptr %".167", align 8
  %".169" = load i32, ptr %".5"
  %".170" = zext i32 %".169" to i64
  %".171" = getelementptr i8, ptr %".1", i64 200
  store i64 %".170", ptr %".171", align 8
  %".173" = load i32, ptr %".6"
  %".174" = zext i32 %".173" to i64
  %".175" = getelementptr i8, ptr %".1", i64 208
  store i64 %".174", ptr %".175", align 8
  %".177" = load i32, ptr %".7"
  %".178" = zext i32 %".177" to i64
  %".179" = getelementptr i8, ptr %".1", i64 216
  store i64 %".178", ptr %".179", align 8
  %".181" = load i32, ptr %".8"
  %".182" = zext i32 %".181" to i64
  %".183" = getelementptr i8, ptr %".1", i64 224
  store i64 %".182", ptr %".183", align 8
  %".185" = load i32, ptr %".9"
  %".186" = zext i32 %".185" to i64
  %".187" = getelementptr i8, ptr %".1", i64 232
  store i64 %".186", ptr %".187", align 8
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
