define internal i32 @"kernel_0.body"(ptr %".1") noinline nounwind
{
slots:
  %".88" = alloca i32
  %".87" = alloca i32
  %".86" = alloca i64
  %".72" = alloca i64
  %".63" = alloca i32
  %".61" = alloca i32
  %".58" = alloca i32
  %".55" = alloca i32
  %".36" = alloca i32
  %".33" = alloca i32
  %".30" = alloca i32
  %".17" = alloca i64
  %".13" = alloca i64
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
  store i64 0, ptr %".13"
  %".15" = getelementptr i8, ptr %".1", i64 136
  %".16" = load i64, ptr %".15", align 8
  %".19" = getelementptr i8, ptr %".1", i64 88
  %".20" = load i32, ptr %".19", align 8, !range !1
  %".22" = getelementptr i8, ptr %".1", i64 96
  %".23" = load i32, ptr %".22", align 8, !range !1
  %".40" = getelementptr i8, ptr %".1", i64 144
  %".41" = load i64, ptr %".40", align 8
  %".47" = getelementptr i8, ptr %".1", i64 112
  %".48" = load i32, ptr %".47", align 8, !range !2
  %".49" = getelementptr i8, ptr %".1", i64 120
  %".50" = load i32, ptr %".49", align 8, !range !2
  %".51" = getelementptr i8, ptr %".1", i64 128
  %".52" = load i32, ptr %".51", align 8, !range !2
  %".53" = mul i32 %".50", %".52"
  %".54" = mul i32 %".48", %".53"
  %".96" = load ptr, ptr %".1", align 8
  %".97" = load i64, ptr %".96", align 8
  %".99" = getelementptr i8, ptr %".96", i64 8
  %".100" = load i32, ptr %".99", align 4
  %".116" = load i64, ptr %".96", align 1
  %".117" = getelementptr i8, ptr %".1", i64 16
  %".118" = load ptr, ptr %".117", align 8
  %".119" = getelementptr i8, ptr %".1", i64 24
  %".120" = load i64, ptr %".119", align 8
  %".121" = lshr i64 %".116", 40
  %".122" = mul i64 %".121", 2557247
  %".123" = and i64 %".122", 4194303
  %".124" = icmp ult i64 %".123", %".120"
  %".125" = select  i1 %".124", i64 %".123", i64 0
  %".126" = shl i64 %".125", 5
  %".127" = getelementptr i8, ptr %".118", i64 %".126"
  %".128" = load ptr, ptr %".127"
  %".129" = getelementptr i8, ptr %".127", i64 8
  %".130" = load i64, ptr %".129"
  %".131" = getelementptr i8, ptr %".127", i64 16
  %".132" = load i64, ptr %".131"
  %".133" = lshr i64 %".130", 2
  br label %"first_block"
first_block:
  store i64 %".16", ptr %".17"
  %".21" = zext i32 %".20" to i64
  %".24" = zext i32 %".23" to i64
  %".25" = udiv i64 %".16", %".21"
  %".26" = urem i64 %".16", %".21"
  %".27" = urem i64 %".25", %".24"
  %".28" = udiv i64 %".25", %".24"
  %".29" = trunc i64 %".26" to i32
  store i32 %".29", ptr %".30"
  %".32" = trunc i64 %".27" to i32
  store i32 %".32", ptr %".33"
  %".35" = trunc i64 %".28" to i32
  store i32 %".35", ptr %".36"
  br label %"block"
block:
  %".39" = load i64, ptr %".17"
  %".42" = icmp ult i64 %".39", %".41"
  br i1 %".42", label %"block_body", label %"end"
block_body:
  %".44" = load i32, ptr %".30"
  %".45" = load i32, ptr %".33"
  %".46" = load i32, ptr %".36"
  store i32 0, ptr %".55"
  br label %"region1"
end:
  %".221" = getelementptr i8, ptr %".1", i64 248
  %".222" = load i64, ptr %".221", align 8
  %".223" = load i64, ptr %".13"
  %".224" = add i64 %".222", %".223"
  %".225" = getelementptr i8, ptr %".1", i64 248
  store i64 %".224", ptr %".225", align 8
  ret i32 0
next_block:
  %".200" = load i64, ptr %".17"
  %".201" = add i64 %".200", 1
  store i64 %".201", ptr %".17"
  %".203" = load i32, ptr %".30"
  %".204" = add i32 %".203", 1
  store i32 %".204", ptr %".30"
  %".206" = icmp eq i32 %".204", %".20"
  br i1 %".206", label %"next_block.if", label %"next_block.endif"
region1:
  store i32 0, ptr %".58"
  store i32 0, ptr %".58"
  store i32 0, ptr %".61"
  store i32 0, ptr %".63"
  store i32 0, ptr %".61"
  br label %"tid_z"
tid_z:
  store i32 0, ptr %".63"
  br label %"tid_y"
tid_y:
  %".69" = load i32, ptr %".61"
  %".70" = load i32, ptr %".63"
  %".71" = load i32, ptr %".58"
  store i64 0, ptr %".72"
  store i64 0, ptr %".72"
  br label %"thread"
row_done:
  %".189" = load i32, ptr %".63"
  %".190" = add i32 %".189", 1
  store i32 %".190", ptr %".63"
  %".192" = icmp ult i32 %".190", %".50"
  br i1 %".192", label %"tid_y", label %"tid_y_done"
thread:
  %".76" = load i64, ptr %".72"
  %".77" = zext i32 %".48" to i64
  %".78" = trunc i64 %".76" to i32
  %".79" = add nuw nsw i32 %".71", %".78"
  store i32 %".78", ptr %".4"
  store i32 %".70", ptr %".5"
  store i32 %".69", ptr %".6"
  store i32 %".44", ptr %".7"
  store i32 %".45", ptr %".8"
  store i32 %".46", ptr %".9"
  store i64 0, ptr %".86"
  store i32 0, ptr %".87"
  store i32 0, ptr %".88"
  br label %"b0"
next_thread:
  %".183" = add nuw nsw i64 %".76", 1
  store i64 %".183", ptr %".72"
  %".185" = add nuw nsw i32 %".79", 1
  store i32 %".185", ptr %".58"
  %".187" = icmp ult i64 %".183", %".77"
  br i1 %".187", label %"thread", label %"row_done"
b0:
  %".93" = load i64, ptr %".13"
  %".94" = add i64 %".93", 8
  store i64 %".94", ptr %".13"
  store i64 %".97", ptr %".86"
  store i32 %".44", ptr %".87"
  %".102" = mul i32 %".44", %".48"
  %".103" = add i32 %".102", %".78"
  store i32 %".103", ptr %".88"
  %".105" = icmp sge i32 %".103", %".100"
  br i1 %".105", label %"b2", label %"b1"
b2:
  %".178" = load i64, ptr %".13"
  %".179" = add i64 %".178", 1
  store i64 %".179", ptr %".13"
  store i32 0, ptr %".55"
  br label %"next_thread"
b1:
  %".107" = load i64, ptr %".13"
  %".108" = add i64 %".107", 6
  store i64 %".108", ptr %".13"
  %".110" = load i64, ptr %".86"
  %".111" = load i32, ptr %".88"
  %".112" = sext i32 %".111" to i64
  %".113" = sext i32 4 to i64
  %".114" = mul i64 %".112", %".113"
  %".115" = add i64 %".110", %".114"
  %".134" = sub i64 %".115", %".132"
  %".135" = call i64 @"llvm.fshr.i64"(i64 %".134", i64 %".134", i64 2)
  %".136" = icmp ult i64 %".135", %".133"
  br i1 %".136", label %"fast", label %"slow", !prof !3
fast:
  %".138" = getelementptr i8, ptr %".128", i64 %".134"
  br label %"after"
slow:
  %".140" = call ptr @"resolve_global"(ptr %".1", ptr %".11", i64 %".115", i64 4, i64 0)
  %".141" = icmp eq ptr %".140", null
  br i1 %".141", label %"fault", label %"after", !prof !4
after:
  %".168" = phi  ptr [%".138", %"fast"], [%".140", %"slow"]
  %".169" = load i32, ptr %".168", align 4
  store i32 %".169", ptr %".87"
  %".171" = call i32 @"llvm.umin.i32"(i32 1, i32 31)
  %".172" = shl i32 %".169", %".171"
  %".173" = icmp ult i32 1, 32
  %".174" = select  i1 %".173", i32 %".172", i32 0
  store i32 %".174", ptr %".87"
  store i32 %".174", ptr %".168", align 4
  br label %"b2"
fault:
  %".142" = load i32, ptr %".4"
  %".143" = zext i32 %".142" to i64
  %".144" = getelementptr i8, ptr %".1", i64 192
  store i64 %".143", ptr %".144", align 8
  %".146" = load i32, ptr %".5"
  %".147" = zext i32 %".146" to i64
  %".148" = getelementptr i8, ptr %".1", i64 200
  store i64 %".147", ptr %".148", align 8
  %".150" = load i32, ptr %".6"
  %".151" = zext i32 %".150" to i64
  %".152" = getelementptr i8, ptr %".1", i64 208
  store i64 %".151", ptr %".152", align 8
  %".154" = load i32, ptr %".7"
  %".155" = zext i32 %".154" to i64
  %".156" = getelementptr i8, ptr %".1", i64 216
  store i64 %".155", ptr %".156", align 8
  %".158" = load i32, ptr %".8"
  %".159" = zext i32 %".158" to i64
  %".160" = getelementptr i8, ptr %".1", i64 224
  store i64 %".159", ptr %".160", align 8
  %".162" = load i32, ptr %".9"
  %".163" = zext i32 %".162" to i64
  %".164" = getelementptr i8, ptr %".1", i64 232
  store i64 %".163", ptr %".164", align 8
  ret i32 1
tid_y_done:
  %".194" = load i32, ptr %".61"
  %".195" = add i32 %".194", 1
  store i32 %".195", ptr %".61"
  %".197" = icmp ult i32 %".195", %".52"
  br i1 %".197", label %"tid_z", label %"tid_z_done"
tid_z_done:
  br label %"next_block"
next_block.if:
  store i32 0, ptr %".30"
  %".209" = load i32, ptr %".33"
  %".210" = add i32 %".209", 1
  store i32 %".210", ptr %".33"
  %".212" = icmp eq i32 %".210", %".23"
  br i1 %".212", label %"next_block.if.if", label %"next_block.if.endif"
next_block.endif:
  br label %"block"
next_block.if.if:
  store i32 0, ptr %".33"
  %".215" = load i32, ptr %".36"
  %".216" = add i32 %".215", 1
  store i32 %".216", ptr %".36"
  br label %"next_block.if.endif"
next_block.if.endif:
  br label %"next_block.endif"
}
