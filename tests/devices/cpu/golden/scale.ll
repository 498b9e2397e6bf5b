define internal i32 @"kernel_0.body"(ptr %".1") noinline nounwind
{
slots:
  %".67" = alloca i64
  %".66" = alloca i64
  %".65" = alloca i64
  %".64" = alloca i1
  %".63" = alloca i32
  %".62" = alloca i32
  %".61" = alloca i32
  %".60" = alloca i32
  %".59" = alloca i32
  %".58" = alloca i64
  %".41" = alloca i32
  %".39" = alloca i32
  %".37" = alloca i32
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
  %".19" = getelementptr i8, ptr %".1", i64 144
  %".20" = load i64, ptr %".19", align 8
  %".24" = getelementptr i8, ptr %".1", i64 88
  %".25" = load i32, ptr %".24", align 8, !range !0
  %".27" = getelementptr i8, ptr %".1", i64 96
  %".28" = load i32, ptr %".27", align 8, !range !0
  %".79" = load ptr, ptr %".1", align 8
  %".80" = load i64, ptr %".79", align 8
  %".82" = getelementptr i8, ptr %".79", i64 8
  %".83" = load i32, ptr %".82", align 4
  %".86" = getelementptr i8, ptr %".1", i64 112
  %".87" = load i32, ptr %".86", align 8, !range !1
  %".115" = load i64, ptr %".79", align 1
  %".116" = lshr i64 %".115", 40
  %".117" = getelementptr i8, ptr %".1", i64 24
  %".118" = load i64, ptr %".117", align 8
  %".119" = icmp ult i64 %".116", %".118"
  %".120" = select  i1 %".119", i64 %".116", i64 0
  %".121" = getelementptr i8, ptr %".1", i64 16
  %".122" = load ptr, ptr %".121", align 8
  %".123" = shl i64 %".120", 4
  %".124" = getelementptr i8, ptr %".122", i64 %".123"
  %".125" = load ptr, ptr %".124"
  %".126" = getelementptr i8, ptr %".124", i64 8
  %".127" = load i64, ptr %".126"
  %".128" = shl i64 %".120", 40
  %".129" = or i64 %".128", 274877906944
  %".132" = lshr i64 %".127", 2
  %".185" = getelementptr i8, ptr %".1", i64 120
  %".186" = load i32, ptr %".185", align 8, !range !1
  %".191" = getelementptr i8, ptr %".1", i64 128
  %".192" = load i32, ptr %".191", align 8, !range !1
  br label %"first_block"
first_block:
  store i64 %".14", ptr %".15"
  br label %"block"
block:
  %".18" = load i64, ptr %".15"
  %".21" = icmp ult i64 %".18", %".20"
  br i1 %".21", label %"block_body", label %"end"
block_body:
  %".23" = load i64, ptr %".15"
  %".26" = zext i32 %".25" to i64
  %".29" = zext i32 %".28" to i64
  %".30" = urem i64 %".23", %".26"
  %".31" = udiv i64 %".23", %".26"
  %".32" = urem i64 %".31", %".29"
  %".33" = udiv i64 %".31", %".29"
  %".34" = trunc i64 %".30" to i32
  %".35" = trunc i64 %".32" to i32
  %".36" = trunc i64 %".33" to i32
  store i32 0, ptr %".37"
  store i32 0, ptr %".39"
  store i32 0, ptr %".41"
  store i32 0, ptr %".41"
  br label %"tid_z"
end:
  ret i32 0
next_block:
  %".196" = load i64, ptr %".15"
  %".197" = add i64 %".196", 1
  store i64 %".197", ptr %".15"
  br label %"block"
tid_z:
  store i32 0, ptr %".39"
  br label %"tid_y"
tid_y:
  store i32 0, ptr %".37"
  br label %"tid_x"
tid_x:
  %".49" = load i32, ptr %".37"
  %".50" = load i32, ptr %".39"
  %".51" = load i32, ptr %".41"
  store i32 %".49", ptr %".4"
  store i32 %".50", ptr %".5"
  store i32 %".51", ptr %".6"
  store i32 %".34", ptr %".7"
  store i32 %".35", ptr %".8"
  store i32 %".36", ptr %".9"
  store i64 0, ptr %".58"
  store i32 0, ptr %".59"
  store i32 0, ptr %".60"
  store i32 0, ptr %".61"
  store i32 0, ptr %".62"
  store i32 0, ptr %".63"
  store i1 0, ptr %".64"
  store i64 0, ptr %".65"
  store i64 0, ptr %".66"
  store i64 0, ptr %".67"
  br label %"b0"
thread_end:
  %".179" = add i32 %".49", 1
  store i32 %".179", ptr %".37"
  %".181" = icmp ult i32 %".179", %".87"
  br i1 %".181", label %"tid_x", label %"tid_x_done"
b0:
  store i64 %".80", ptr %".58"
  store i32 %".83", ptr %".59"
  store i32 %".34", ptr %".60"
  store i32 %".87", ptr %".61"
  store i32 %".49", ptr %".62"
  %".90" = load i32, ptr %".60"
  %".91" = load i32, ptr %".61"
  %".92" = mul i32 %".90", %".91"
  %".93" = load i32, ptr %".62"
  %".94" = add i32 %".92", %".93"
  store i32 %".94", ptr %".63"
  %".96" = load i32, ptr %".63"
  %".97" = load i32, ptr %".59"
  %".98" = icmp sge i32 %".96", %".97"
  %".99" = xor i1 %".98", -1
  store i1 %".98", ptr %".64"
  %".101" = load i1, ptr %".64"
  br i1 %".101", label %"b2", label %"b1"
b1:
  %".103" = load i64, ptr %".58"
  store i64 %".103", ptr %".65"
  %".105" = load i32, ptr %".63"
  %".106" = sext i32 %".105" to i64
  %".107" = sext i32 4 to i64
  %".108" = mul i64 %".106", %".107"
  store i64 %".108", ptr %".66"
  %".110" = load i64, ptr %".65"
  %".111" = load i64, ptr %".66"
  %".112" = add i64 %".110", %".111"
  store i64 %".112", ptr %".67"
  %".114" = load i64, ptr %".67"
  %".130" = sub i64 %".114", %".129"
  %".131" = call i64 @"llvm.fshr.i64"(i64 %".130", i64 %".130", i64 2)
  %".133" = icmp ult i64 %".131", %".132"
  br i1 %".133", label %"fast", label %"slow", !prof !2
b2:
  br label %"thread_end"
b3:
  br label %"thread_end"
fast:
  %".135" = getelementptr i8, ptr %".125", i64 %".130"
  br label %"after"
slow:
  %".137" = call ptr @"resolve"(ptr %".1", ptr %".11", i64 %".114", i64 4, i64 0)
  %".138" = icmp eq ptr %".137", null
  br i1 %".138", label %"fault", label %"after", !prof !3
after:
  %".165" = phi  ptr [%".135", %"fast"], [%".137", %"slow"]
  %".166" = load i32, ptr %".165", align 4
  store i32 %".166", ptr %".60"
  %".168" = load i32, ptr %".60"
  %".169" = call i32 @"llvm.umin.i32"(i32 1, i32 31)
  %".170" = shl i32 %".168", %".169"
  %".171" = icmp ult i32 1, 32
  %".172" = select  i1 %".171", i32 %".170", i32 0
  store i32 %".172", ptr %".60"
  %".174" = load i32, ptr %".60"
  store i32 %".174", ptr %".165", align 4
  br label %"b2"
fault:
  %".139" = load i32, ptr %".4"
  %".140" = zext i32 %".139" to i64
  %".141" = getelementptr i8, ptr %".1", i64 192
  store i64 %".140", ptr %".141", align 8
  %".143" = load i32, ptr %".5"
  %".144" = zext i32 %".143" to i64
  %".145" = getelementptr i8, ptr %".1", i64 200
  store i64 %".144", ptr %".145", align 8
  %".147" = load i32, ptr %".6"
  %".148" = zext i32 %".147" to i64
  %".149" = getelementptr i8, ptr %".1", i64 208
  store i64 %".148", ptr %".149", align 8
  %".151" = load i32, ptr %".7"
  %".152" = zext i32 %".151" to i64
  %".153" = getelementptr i8, ptr %".1", i64 216
  store i64 %".152", ptr %".153", align 8
  %".155" = load i32, ptr %".8"
  %".156" = zext i32 %".155" to i64
  %".157" = getelementptr i8, ptr %".1", i64 224
  store i64 %".156", ptr %".157", align 8
  %".159" = load i32, ptr %".9"
  %".160" = zext i32 %".159" to i64
  %".161" = getelementptr i8, ptr %".1", i64 232
  store i64 %".160", ptr %".161", align 8
  ret i32 1
tid_x_done:
  %".183" = add i32 %".50", 1
  store i32 %".183", ptr %".39"
  %".187" = icmp ult i32 %".183", %".186"
  br i1 %".187", label %"tid_y", label %"tid_y_done"
tid_y_done:
  %".189" = add i32 %".51", 1
  store i32 %".189", ptr %".41"
  %".193" = icmp ult i32 %".189", %".192"
  br i1 %".193", label %"tid_z", label %"tid_z_done"
tid_z_done:
  br label %"next_block"
}
