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
  %".139" = lshr i64 %".138", 40
  %".140" = getelementptr i8, ptr %".1", i64 24
  %".141" = load i64, ptr %".140", align 8
  %".142" = icmp ult i64 %".139", %".141"
  %".143" = select  i1 %".142", i64 %".139", i64 0
  %".144" = getelementptr i8, ptr %".1", i64 16
  %".145" = load ptr, ptr %".144", align 8
  %".146" = shl i64 %".143", 5
  %".147" = getelementptr i8, ptr %".145", i64 %".146"
  %".148" = load ptr, ptr %".147"
  %".149" = getelementptr i8, ptr %".147", i64 8
  %".150" = load i64, ptr %".149"
  %".151" = getelementptr i8, ptr %".147", i64 16
  %".152" = load i64, ptr %".151"
  %".155" = lshr i64 %".150", 2
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
  %".220" = load i64, ptr %".15"
  %".221" = add i64 %".220", 1
  store i64 %".221", ptr %".15"
  %".223" = load i32, ptr %".28"
  %".224" = add i32 %".223", 1
  store i32 %".224", ptr %".28"
  %".226" = icmp eq i32 %".224", %".18"
  br i1 %".226", label %"next_block.if", label %"next_block.endif"
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
  %".209" = load i32, ptr %".61"
  %".210" = add i32 %".209", 1
  store i32 %".210", ptr %".61"
  %".212" = icmp ult i32 %".210", %".48"
  br i1 %".212", label %"tid_y", label %"tid_y_done"
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
  %".202" = add nuw nsw i64 %".74", 1
  store i64 %".202", ptr %".70"
  %".204" = add nuw nsw i32 %".76", 1
  store i32 %".204", ptr %".56"
  %".206" = zext i32 %".46" to i64
  %".207" = icmp ult i64 %".202", %".206"
  br i1 %".207", label %"thread", label %"row_done"
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
  %".153" = sub i64 %".137", %".152"
  %".154" = call i64 @"llvm.fshr.i64"(i64 %".153", i64 %".153", i64 2)
  %".156" = icmp ult i64 %".154", %".155"
  br i1 %".156", label %"fast", label %"slow", !prof !2
fast:
  %".158" = getelementptr i8, ptr %".148", i64 %".153"
  br label %"after"
slow:
  %".160" = call ptr @"resolve"(ptr %".1", ptr %".11", i64 %".137", i64 4, i64 0)
  %".161" = icmp eq ptr %".160", null
  br i1 %".161", label %"fault", label %"after", !prof !3
after:
  %".188" = phi  ptr [%".158", %"fast"], [%".160", %"slow"]
  %".189" = load i32, ptr %".188", align 4
  store i32 %".189", ptr %".85"
  %".191" = load i32, ptr %".85"
  %".192" = call i32 @"llvm.umin.i32"(i32 1, i32 31)
  %".193" = shl i32 %".191", %".192"
  %".194" = icmp ult i32 1, 32
  %".195" = select  i1 %".194", i32 %".193", i32 0
  store i32 %".195", ptr %".85"
  %".197" = load i32, ptr %".85"
  store i32 %".197", ptr %".188", align 4
  br label %"b2"
fault:
  %".162" = load i32, ptr %".4"
  %".163" = zext i32 %".162" to i64
  %".164" = getelementptr i8, ptr %".1", i64 192
  store i64 %".163", ptr %".164", align 8
  %".166" = load i32, ptr %".5"
  %".167" = zext i32 %".166" to i64
  %".168" = getelementptr i8, ptr %".1", i64 200
  store i64 %".167", ptr %".168", align 8
  %".170" = load i32, ptr %".6"
  %".171" = zext i32 %".170" to i64
  %".172" = getelementptr i8, ptr %".1", i64 208
  store i64 %".171", ptr %".172", align 8
  %".174" = load i32, ptr %".7"
  %".175" = zext i32 %".174" to i64
  %".176" = getelementptr i8, ptr %".1", i64 216
  store i64 %".175", ptr %".176", align 8
  %".178" = load i32, ptr %".8"
  %".179" = zext i32 %".178" to i64
  %".180" = getelementptr i8, ptr %".1", i64 224
  store i64 %".179", ptr %".180", align 8
  %".182" = load i32, ptr %".9"
  %".183" = zext i32 %".182" to i64
  %".184" = getelementptr i8, ptr %".1", i64 232
  store i64 %".183", ptr %".184", align 8
  ret i32 1
tid_y_done:
  %".214" = load i32, ptr %".59"
  %".215" = add i32 %".214", 1
  store i32 %".215", ptr %".59"
  %".217" = icmp ult i32 %".215", %".50"
  br i1 %".217", label %"tid_z", label %"tid_z_done"
tid_z_done:
  br label %"next_block"
next_block.if:
  store i32 0, ptr %".28"
  %".229" = load i32, ptr %".31"
  %".230" = add i32 %".229", 1
  store i32 %".230", ptr %".31"
  %".232" = icmp eq i32 %".230", %".21"
  br i1 %".232", label %"next_block.if.if", label %"next_block.if.endif"
next_block.endif:
  br label %"block"
next_block.if.if:
  store i32 0, ptr %".31"
  %".235" = load i32, ptr %".34"
  %".236" = add i32 %".235", 1
  store i32 %".236", ptr %".34"
  br label %"next_block.if.endif"
next_block.if.endif:
  br label %"next_block.endif"
}
