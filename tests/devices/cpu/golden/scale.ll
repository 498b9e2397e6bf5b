define internal i32 @"kernel_0.body"(ptr %".1") noinline nounwind
{
slots:
  %".75" = alloca i64
  %".74" = alloca i64
  %".73" = alloca i64
  %".72" = alloca i1
  %".71" = alloca i32
  %".70" = alloca i32
  %".69" = alloca i32
  %".68" = alloca i32
  %".67" = alloca i32
  %".66" = alloca i64
  %".49" = alloca i32
  %".47" = alloca i32
  %".45" = alloca i32
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
  %".87" = load ptr, ptr %".1", align 8
  %".88" = load i64, ptr %".87", align 8
  %".90" = getelementptr i8, ptr %".87", i64 8
  %".91" = load i32, ptr %".90", align 4
  %".94" = getelementptr i8, ptr %".1", i64 112
  %".95" = load i32, ptr %".94", align 8, !range !1
  %".123" = load i64, ptr %".87", align 1
  %".124" = lshr i64 %".123", 40
  %".125" = getelementptr i8, ptr %".1", i64 24
  %".126" = load i64, ptr %".125", align 8
  %".127" = icmp ult i64 %".124", %".126"
  %".128" = select  i1 %".127", i64 %".124", i64 0
  %".129" = getelementptr i8, ptr %".1", i64 16
  %".130" = load ptr, ptr %".129", align 8
  %".131" = shl i64 %".128", 5
  %".132" = getelementptr i8, ptr %".130", i64 %".131"
  %".133" = load ptr, ptr %".132"
  %".134" = getelementptr i8, ptr %".132", i64 8
  %".135" = load i64, ptr %".134"
  %".136" = getelementptr i8, ptr %".132", i64 16
  %".137" = load i64, ptr %".136"
  %".140" = lshr i64 %".135", 2
  %".193" = getelementptr i8, ptr %".1", i64 120
  %".194" = load i32, ptr %".193", align 8, !range !1
  %".199" = getelementptr i8, ptr %".1", i64 128
  %".200" = load i32, ptr %".199", align 8, !range !1
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
  store i32 0, ptr %".45"
  store i32 0, ptr %".47"
  store i32 0, ptr %".49"
  store i32 0, ptr %".49"
  br label %"tid_z"
end:
  ret i32 0
next_block:
  %".204" = load i64, ptr %".15"
  %".205" = add i64 %".204", 1
  store i64 %".205", ptr %".15"
  %".207" = load i32, ptr %".28"
  %".208" = add i32 %".207", 1
  store i32 %".208", ptr %".28"
  %".210" = icmp eq i32 %".208", %".18"
  br i1 %".210", label %"next_block.if", label %"next_block.endif"
tid_z:
  store i32 0, ptr %".47"
  br label %"tid_y"
tid_y:
  store i32 0, ptr %".45"
  br label %"tid_x"
tid_x:
  %".57" = load i32, ptr %".45"
  %".58" = load i32, ptr %".47"
  %".59" = load i32, ptr %".49"
  store i32 %".57", ptr %".4"
  store i32 %".58", ptr %".5"
  store i32 %".59", ptr %".6"
  store i32 %".42", ptr %".7"
  store i32 %".43", ptr %".8"
  store i32 %".44", ptr %".9"
  store i64 0, ptr %".66"
  store i32 0, ptr %".67"
  store i32 0, ptr %".68"
  store i32 0, ptr %".69"
  store i32 0, ptr %".70"
  store i32 0, ptr %".71"
  store i1 0, ptr %".72"
  store i64 0, ptr %".73"
  store i64 0, ptr %".74"
  store i64 0, ptr %".75"
  br label %"b0"
thread_end:
  %".187" = add i32 %".57", 1
  store i32 %".187", ptr %".45"
  %".189" = icmp ult i32 %".187", %".95"
  br i1 %".189", label %"tid_x", label %"tid_x_done"
b0:
  store i64 %".88", ptr %".66"
  store i32 %".91", ptr %".67"
  store i32 %".42", ptr %".68"
  store i32 %".95", ptr %".69"
  store i32 %".57", ptr %".70"
  %".98" = load i32, ptr %".68"
  %".99" = load i32, ptr %".69"
  %".100" = mul i32 %".98", %".99"
  %".101" = load i32, ptr %".70"
  %".102" = add i32 %".100", %".101"
  store i32 %".102", ptr %".71"
  %".104" = load i32, ptr %".71"
  %".105" = load i32, ptr %".67"
  %".106" = icmp sge i32 %".104", %".105"
  %".107" = xor i1 %".106", -1
  store i1 %".106", ptr %".72"
  %".109" = load i1, ptr %".72"
  br i1 %".109", label %"b2", label %"b1"
b1:
  %".111" = load i64, ptr %".66"
  store i64 %".111", ptr %".73"
  %".113" = load i32, ptr %".71"
  %".114" = sext i32 %".113" to i64
  %".115" = sext i32 4 to i64
  %".116" = mul i64 %".114", %".115"
  store i64 %".116", ptr %".74"
  %".118" = load i64, ptr %".73"
  %".119" = load i64, ptr %".74"
  %".120" = add i64 %".118", %".119"
  store i64 %".120", ptr %".75"
  %".122" = load i64, ptr %".75"
  %".138" = sub i64 %".122", %".137"
  %".139" = call i64 @"llvm.fshr.i64"(i64 %".138", i64 %".138", i64 2)
  %".141" = icmp ult i64 %".139", %".140"
  br i1 %".141", label %"fast", label %"slow", !prof !2
b2:
  br label %"thread_end"
b3:
  br label %"thread_end"
fast:
  %".143" = getelementptr i8, ptr %".133", i64 %".138"
  br label %"after"
slow:
  %".145" = call ptr @"resolve"(ptr %".1", ptr %".11", i64 %".122", i64 4, i64 0)
  %".146" = icmp eq ptr %".145", null
  br i1 %".146", label %"fault", label %"after", !prof !3
after:
  %".173" = phi  ptr [%".143", %"fast"], [%".145", %"slow"]
  %".174" = load i32, ptr %".173", align 4
  store i32 %".174", ptr %".68"
  %".176" = load i32, ptr %".68"
  %".177" = call i32 @"llvm.umin.i32"(i32 1, i32 31)
  %".178" = shl i32 %".176", %".177"
  %".179" = icmp ult i32 1, 32
  %".180" = select  i1 %".179", i32 %".178", i32 0
  store i32 %".180", ptr %".68"
  %".182" = load i32, ptr %".68"
  store i32 %".182", ptr %".173", align 4
  br label %"b2"
fault:
  %".147" = load i32, ptr %".4"
  %".148" = zext i32 %".147" to i64
  %".149" = getelementptr i8, ptr %".1", i64 192
  store i64 %".148", ptr %".149", align 8
  %".151" = load i32, ptr %".5"
  %".152" = zext i32 %".151" to i64
  %".153" = getelementptr i8, ptr %".1", i64 200
  store i64 %".152", ptr %".153", align 8
  %".155" = load i32, ptr %".6"
  %".156" = zext i32 %".155" to i64
  %".157" = getelementptr i8, ptr %".1", i64 208
  store i64 %".156", ptr %".157", align 8
  %".159" = load i32, ptr %".7"
  %".160" = zext i32 %".159" to i64
  %".161" = getelementptr i8, ptr %".1", i64 216
  store i64 %".160", ptr %".161", align 8
  %".163" = load i32, ptr %".8"
  %".164" = zext i32 %".163" to i64
  %".165" = getelementptr i8, ptr %".1", i64 224
  store i64 %".164", ptr %".165", align 8
  %".167" = load i32, ptr %".9"
  %".168" = zext i32 %".167" to i64
  %".169" = getelementptr i8, ptr %".1", i64 232
  store i64 %".168", ptr %".169", align 8
  ret i32 1
tid_x_done:
  %".191" = add i32 %".58", 1
  store i32 %".191", ptr %".47"
  %".195" = icmp ult i32 %".191", %".194"
  br i1 %".195", label %"tid_y", label %"tid_y_done"
tid_y_done:
  %".197" = add i32 %".59", 1
  store i32 %".197", ptr %".49"
  %".201" = icmp ult i32 %".197", %".200"
  br i1 %".201", label %"tid_z", label %"tid_z_done"
tid_z_done:
  br label %"next_block"
next_block.if:
  store i32 0, ptr %".28"
  %".213" = load i32, ptr %".31"
  %".214" = add i32 %".213", 1
  store i32 %".214", ptr %".31"
  %".216" = icmp eq i32 %".214", %".21"
  br i1 %".216", label %"next_block.if.if", label %"next_block.if.endif"
next_block.endif:
  br label %"block"
next_block.if.if:
  store i32 0, ptr %".31"
  %".219" = load i32, ptr %".34"
  %".220" = add i32 %".219", 1
  store i32 %".220", ptr %".34"
  br label %"next_block.if.endif"
next_block.if.endif:
  br label %"next_block.endif"
}
