define internal i32 @"kernel_0.body"(ptr %".1") noinline nounwind
{
slots:
  %".95" = alloca i64
  %".94" = alloca i64
  %".93" = alloca i64
  %".92" = alloca i1
  %".91" = alloca i32
  %".90" = alloca i32
  %".89" = alloca i32
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
  %".20" = load i32, ptr %".19", align 8, !range !0
  %".22" = getelementptr i8, ptr %".1", i64 96
  %".23" = load i32, ptr %".22", align 8, !range !0
  %".40" = getelementptr i8, ptr %".1", i64 144
  %".41" = load i64, ptr %".40", align 8
  %".47" = getelementptr i8, ptr %".1", i64 112
  %".48" = load i32, ptr %".47", align 8, !range !1
  %".49" = getelementptr i8, ptr %".1", i64 120
  %".50" = load i32, ptr %".49", align 8, !range !1
  %".51" = getelementptr i8, ptr %".1", i64 128
  %".52" = load i32, ptr %".51", align 8, !range !1
  %".53" = mul i32 %".50", %".52"
  %".54" = mul i32 %".48", %".53"
  %".110" = load ptr, ptr %".1", align 8
  %".111" = load i64, ptr %".110", align 8
  %".113" = getelementptr i8, ptr %".110", i64 8
  %".114" = load i32, ptr %".113", align 4
  %".147" = load i64, ptr %".110", align 1
  %".148" = getelementptr i8, ptr %".1", i64 16
  %".149" = load ptr, ptr %".148", align 8
  %".150" = getelementptr i8, ptr %".1", i64 24
  %".151" = load i64, ptr %".150", align 8
  %".152" = lshr i64 %".147", 40
  %".153" = mul i64 %".152", 2557247
  %".154" = and i64 %".153", 4194303
  %".155" = icmp ult i64 %".154", %".151"
  %".156" = select  i1 %".155", i64 %".154", i64 0
  %".157" = shl i64 %".156", 5
  %".158" = getelementptr i8, ptr %".149", i64 %".157"
  %".159" = load ptr, ptr %".158"
  %".160" = getelementptr i8, ptr %".158", i64 8
  %".161" = load i64, ptr %".160"
  %".162" = getelementptr i8, ptr %".158", i64 16
  %".163" = load i64, ptr %".162"
  %".166" = lshr i64 %".161", 2
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
  %".254" = getelementptr i8, ptr %".1", i64 248
  %".255" = load i64, ptr %".254", align 8
  %".256" = load i64, ptr %".13"
  %".257" = add i64 %".255", %".256"
  %".258" = getelementptr i8, ptr %".1", i64 248
  store i64 %".257", ptr %".258", align 8
  ret i32 0
next_block:
  %".233" = load i64, ptr %".17"
  %".234" = add i64 %".233", 1
  store i64 %".234", ptr %".17"
  %".236" = load i32, ptr %".30"
  %".237" = add i32 %".236", 1
  store i32 %".237", ptr %".30"
  %".239" = icmp eq i32 %".237", %".20"
  br i1 %".239", label %"next_block.if", label %"next_block.endif"
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
  %".222" = load i32, ptr %".63"
  %".223" = add i32 %".222", 1
  store i32 %".223", ptr %".63"
  %".225" = icmp ult i32 %".223", %".50"
  br i1 %".225", label %"tid_y", label %"tid_y_done"
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
  store i32 0, ptr %".89"
  store i32 0, ptr %".90"
  store i32 0, ptr %".91"
  store i1 0, ptr %".92"
  store i64 0, ptr %".93"
  store i64 0, ptr %".94"
  store i64 0, ptr %".95"
  br label %"b0"
next_thread:
  %".216" = add nuw nsw i64 %".76", 1
  store i64 %".216", ptr %".72"
  %".218" = add nuw nsw i32 %".79", 1
  store i32 %".218", ptr %".58"
  %".220" = icmp ult i64 %".216", %".77"
  br i1 %".220", label %"thread", label %"row_done"
b0:
  %".107" = load i64, ptr %".13"
  %".108" = add i64 %".107", 8
  store i64 %".108", ptr %".13"
  store i64 %".111", ptr %".86"
  store i32 %".114", ptr %".87"
  store i32 %".44", ptr %".88"
  store i32 %".48", ptr %".89"
  store i32 %".78", ptr %".90"
  %".119" = load i32, ptr %".88"
  %".120" = load i32, ptr %".89"
  %".121" = mul i32 %".119", %".120"
  %".122" = load i32, ptr %".90"
  %".123" = add i32 %".121", %".122"
  store i32 %".123", ptr %".91"
  %".125" = load i32, ptr %".91"
  %".126" = load i32, ptr %".87"
  %".127" = icmp sge i32 %".125", %".126"
  %".128" = xor i1 %".127", -1
  store i1 %".127", ptr %".92"
  %".130" = load i1, ptr %".92"
  br i1 %".130", label %"b2", label %"b1"
b2:
  %".211" = load i64, ptr %".13"
  %".212" = add i64 %".211", 1
  store i64 %".212", ptr %".13"
  store i32 0, ptr %".55"
  br label %"next_thread"
b1:
  %".132" = load i64, ptr %".13"
  %".133" = add i64 %".132", 6
  store i64 %".133", ptr %".13"
  %".135" = load i64, ptr %".86"
  store i64 %".135", ptr %".93"
  %".137" = load i32, ptr %".91"
  %".138" = sext i32 %".137" to i64
  %".139" = sext i32 4 to i64
  %".140" = mul i64 %".138", %".139"
  store i64 %".140", ptr %".94"
  %".142" = load i64, ptr %".93"
  %".143" = load i64, ptr %".94"
  %".144" = add i64 %".142", %".143"
  store i64 %".144", ptr %".95"
  %".146" = load i64, ptr %".95"
  %".164" = sub i64 %".146", %".163"
  %".165" = call i64 @"llvm.fshr.i64"(i64 %".164", i64 %".164", i64 2)
  %".167" = icmp ult i64 %".165", %".166"
  br i1 %".167", label %"fast", label %"slow", !prof !2
fast:
  %".169" = getelementptr i8, ptr %".159", i64 %".164"
  br label %"after"
slow:
  %".171" = call ptr @"resolve_global"(ptr %".1", ptr %".11", i64 %".146", i64 4, i64 0)
  %".172" = icmp eq ptr %".171", null
  br i1 %".172", label %"fault", label %"after", !prof !3
after:
  %".199" = phi  ptr [%".169", %"fast"], [%".171", %"slow"]
  %".200" = load i32, ptr %".199", align 4
  store i32 %".200", ptr %".88"
  %".202" = load i32, ptr %".88"
  %".203" = call i32 @"llvm.umin.i32"(i32 1, i32 31)
  %".204" = shl i32 %".202", %".203"
  %".205" = icmp ult i32 1, 32
  %".206" = select  i1 %".205", i32 %".204", i32 0
  store i32 %".206", ptr %".88"
  %".208" = load i32, ptr %".88"
  store i32 %".208", ptr %".199", align 4
  br label %"b2"
fault:
  %".173" = load i32, ptr %".4"
  %".174" = zext i32 %".173" to i64
  %".175" = getelementptr i8, ptr %".1", i64 192
  store i64 %".174", ptr %".175", align 8
  %".177" = load i32, ptr %".5"
  %".178" = zext i32 %".177" to i64
  %".179" = getelementptr i8, ptr %".1", i64 200
  store i64 %".178", ptr %".179", align 8
  %".181" = load i32, ptr %".6"
  %".182" = zext i32 %".181" to i64
  %".183" = getelementptr i8, ptr %".1", i64 208
  store i64 %".182", ptr %".183", align 8
  %".185" = load i32, ptr %".7"
  %".186" = zext i32 %".185" to i64
  %".187" = getelementptr i8, ptr %".1", i64 216
  store i64 %".186", ptr %".187", align 8
  %".189" = load i32, ptr %".8"
  %".190" = zext i32 %".189" to i64
  %".191" = getelementptr i8, ptr %".1", i64 224
  store i64 %".190", ptr %".191", align 8
  %".193" = load i32, ptr %".9"
  %".194" = zext i32 %".193" to i64
  %".195" = getelementptr i8, ptr %".1", i64 232
  store i64 %".194", ptr %".195", align 8
  ret i32 1
tid_y_done:
  %".227" = load i32, ptr %".61"
  %".228" = add i32 %".227", 1
  store i32 %".228", ptr %".61"
  %".230" = icmp ult i32 %".228", %".52"
  br i1 %".230", label %"tid_z", label %"tid_z_done"
tid_z_done:
  br label %"next_block"
next_block.if:
  store i32 0, ptr %".30"
  %".242" = load i32, ptr %".33"
  %".243" = add i32 %".242", 1
  store i32 %".243", ptr %".33"
  %".245" = icmp eq i32 %".243", %".23"
  br i1 %".245", label %"next_block.if.if", label %"next_block.if.endif"
next_block.endif:
  br label %"block"
next_block.if.if:
  store i32 0, ptr %".33"
  %".248" = load i32, ptr %".36"
  %".249" = add i32 %".248", 1
  store i32 %".249", ptr %".36"
  br label %"next_block.if.endif"
next_block.if.endif:
  br label %"next_block.endif"
}
