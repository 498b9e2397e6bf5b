define internal i32 @"kernel_0.body"(ptr %".1") noinline nounwind
{
slots:
  %".246" = alloca i64
  %".195" = alloca i32
  %".179" = alloca i64
  %".107" = alloca i64
  %".101" = alloca i32
  %".96" = alloca i32
  %".81" = alloca i32
  %".79" = alloca i32
  %".76" = alloca i32
  %".73" = alloca i32
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
  %".65" = getelementptr i8, ptr %".1", i64 112
  %".66" = load i32, ptr %".65", align 8, !range !2
  %".67" = getelementptr i8, ptr %".1", i64 120
  %".68" = load i32, ptr %".67", align 8, !range !2
  %".69" = getelementptr i8, ptr %".1", i64 128
  %".70" = load i32, ptr %".69", align 8, !range !2
  %".71" = mul i32 %".68", %".70"
  %".72" = mul i32 %".66", %".71"
  %".103" = load ptr, ptr %".1", align 8
  %".104" = getelementptr i8, ptr %".103", i64 8
  %".105" = load i32, ptr %".104", align 4
  %".106" = load i64, ptr %".103", align 8
  %".125" = getelementptr i8, ptr %".103", i64 8
  %".126" = load i32, ptr %".125", align 4
  %".127" = load i64, ptr %".103", align 8
  %".143" = load i64, ptr %".103", align 1
  %".144" = getelementptr i8, ptr %".1", i64 16
  %".145" = load ptr, ptr %".144", align 8
  %".146" = getelementptr i8, ptr %".1", i64 24
  %".147" = load i64, ptr %".146", align 8
  %".148" = lshr i64 %".143", 40
  %".149" = mul i64 %".148", 2557247
  %".150" = and i64 %".149", 4194303
  %".151" = icmp ult i64 %".150", %".147"
  %".152" = select  i1 %".151", i64 %".150", i64 0
  %".153" = shl i64 %".152", 5
  %".154" = getelementptr i8, ptr %".145", i64 %".153"
  %".155" = load ptr, ptr %".154"
  %".156" = getelementptr i8, ptr %".154", i64 8
  %".157" = load i64, ptr %".156"
  %".158" = getelementptr i8, ptr %".154", i64 16
  %".159" = load i64, ptr %".158"
  %".160" = lshr i64 %".157", 2
  %".204" = load i64, ptr %".103", align 8
  %".206" = getelementptr i8, ptr %".103", i64 8
  %".207" = load i32, ptr %".206", align 4
  %".268" = load i64, ptr %".103", align 8
  %".270" = getelementptr i8, ptr %".103", i64 8
  %".271" = load i32, ptr %".270", align 4
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
  %".47" = getelementptr i8, ptr %".1", i64 592
  %".48" = load atomic i64, ptr %".47" monotonic, align 8
  %".49" = icmp ne i64 %".48", 0
  br i1 %".49", label %"block_body.if", label %"block_body.endif", !prof !0
end:
  %".374" = getelementptr i8, ptr %".1", i64 248
  %".375" = load i64, ptr %".374", align 8
  %".376" = load i64, ptr %".13"
  %".377" = add i64 %".375", %".376"
  %".378" = getelementptr i8, ptr %".1", i64 248
  store i64 %".377", ptr %".378", align 8
  store i64 0, ptr %".13"
  ret i32 0
block_body.if:
  %".51" = getelementptr i8, ptr %".1", i64 168
  store i64 43, ptr %".51", align 8
  %".53" = getelementptr i8, ptr %".1", i64 184
  store i64 1, ptr %".53", align 8
  %".55" = zext i32 %".44" to i64
  %".56" = getelementptr i8, ptr %".1", i64 216
  store i64 %".55", ptr %".56", align 8
  %".58" = zext i32 %".45" to i64
  %".59" = getelementptr i8, ptr %".1", i64 224
  store i64 %".58", ptr %".59", align 8
  %".61" = zext i32 %".46" to i64
  %".62" = getelementptr i8, ptr %".1", i64 232
  store i64 %".61", ptr %".62", align 8
  ret i32 1
block_body.endif:
  store i32 0, ptr %".73"
  br label %"region1"
next_block:
  %".353" = load i64, ptr %".17"
  %".354" = add i64 %".353", 1
  store i64 %".354", ptr %".17"
  %".356" = load i32, ptr %".30"
  %".357" = add i32 %".356", 1
  store i32 %".357", ptr %".30"
  %".359" = icmp eq i32 %".357", %".20"
  br i1 %".359", label %"next_block.if", label %"next_block.endif"
region1:
  store i32 0, ptr %".76"
  store i32 0, ptr %".76"
  store i32 0, ptr %".79"
  store i32 0, ptr %".81"
  store i32 0, ptr %".79"
  br label %"tid_z"
tid_z:
  store i32 0, ptr %".81"
  br label %"tid_y"
tid_y:
  %".87" = load i32, ptr %".79"
  %".88" = load i32, ptr %".81"
  %".89" = sub i32 %".66", 1
  store i32 0, ptr %".4"
  store i32 %".88", ptr %".5"
  store i32 %".87", ptr %".6"
  store i32 %".44", ptr %".7"
  store i32 %".45", ptr %".8"
  store i32 %".46", ptr %".9"
  store i32 %".44", ptr %".96"
  %".98" = load i32, ptr %".96"
  %".99" = mul i32 %".98", %".66"
  %".100" = add i32 %".99", 0
  store i32 %".100", ptr %".101"
  store i64 %".106", ptr %".107"
  %".109" = sext i32 %".100" to i64
  %".110" = sext i32 4 to i64
  %".111" = mul i64 %".109", %".110"
  %".112" = add i64 %".106", %".111"
  %".113" = icmp sge i32 %".100", %".105"
  store i32 %".89", ptr %".4"
  store i32 %".88", ptr %".5"
  store i32 %".87", ptr %".6"
  store i32 %".44", ptr %".7"
  store i32 %".45", ptr %".8"
  store i32 %".46", ptr %".9"
  store i32 %".44", ptr %".96"
  %".121" = load i32, ptr %".96"
  %".122" = mul i32 %".121", %".66"
  %".123" = add i32 %".122", %".89"
  store i32 %".123", ptr %".101"
  store i64 %".127", ptr %".107"
  %".129" = sext i32 %".123" to i64
  %".130" = sext i32 4 to i64
  %".131" = mul i64 %".129", %".130"
  %".132" = add i64 %".127", %".131"
  %".133" = icmp sge i32 %".123", %".126"
  %".134" = zext i32 %".89" to i64
  %".135" = icmp uge i32 %".66", 16
  %".136" = sext i32 %".123" to i64
  %".137" = sext i32 %".100" to i64
  %".138" = sub i64 %".136", %".137"
  %".139" = mul i64 %".134", 1
  %".140" = icmp eq i64 %".138", %".139"
  %".141" = icmp eq i1 %".113", %".133"
  %".142" = xor i1 %".113", -1
  %".161" = sub i64 %".112", %".159"
  %".162" = call i64 @"llvm.fshr.i64"(i64 %".161", i64 %".161", i64 2)
  %".163" = icmp ult i64 %".162", %".160"
  %".164" = sub i64 %".132", %".159"
  %".165" = call i64 @"llvm.fshr.i64"(i64 %".164", i64 %".164", i64 2)
  %".166" = icmp ult i64 %".165", %".160"
  %".167" = sub i64 %".112", %".159"
  %".168" = getelementptr i8, ptr %".155", i64 %".167"
  %".169" = and i1 1, %".135"
  %".170" = and i1 %".169", %".140"
  %".171" = and i1 %".170", %".141"
  %".172" = and i1 %".171", %".142"
  %".173" = and i1 %".172", %".163"
  %".174" = and i1 %".173", %".166"
  br i1 %".174", label %"proven_row", label %"checked_row"
row_done:
  %".342" = load i32, ptr %".81"
  %".343" = add i32 %".342", 1
  store i32 %".343", ptr %".81"
  %".345" = icmp ult i32 %".343", %".68"
  br i1 %".345", label %"tid_y", label %"tid_y_done"
proven_row:
  %".176" = load i32, ptr %".79"
  %".177" = load i32, ptr %".81"
  %".178" = load i32, ptr %".76"
  store i64 0, ptr %".179"
  store i64 0, ptr %".179"
  br label %"thread"
checked_row:
  %".243" = load i32, ptr %".79"
  %".244" = load i32, ptr %".81"
  %".245" = load i32, ptr %".76"
  store i64 0, ptr %".246"
  store i64 0, ptr %".246"
  br label %"thread.1"
thread:
  %".183" = load i64, ptr %".179"
  %".184" = zext i32 %".66" to i64
  %".185" = trunc i64 %".183" to i32
  %".186" = add nuw nsw i32 %".178", %".185"
  store i32 %".185", ptr %".4"
  store i32 %".177", ptr %".5"
  store i32 %".176", ptr %".6"
  store i32 %".44", ptr %".7"
  store i32 %".45", ptr %".8"
  store i32 %".46", ptr %".9"
  %".193" = mul i64 %".183", 4
  %".194" = getelementptr i8, ptr %".168", i64 %".193"
  store i32 0, ptr %".96"
  store i32 0, ptr %".101"
  store i64 0, ptr %".107"
  store i32 0, ptr %".195"
  br label %"b0"
next_thread:
  %".237" = add nuw nsw i64 %".183", 1
  store i64 %".237", ptr %".179"
  %".239" = add nuw nsw i32 %".186", 1
  store i32 %".239", ptr %".76"
  %".241" = icmp ult i64 %".237", %".184"
  br i1 %".241", label %"thread", label %"row_done"
b0:
  %".201" = load i64, ptr %".13"
  %".202" = add i64 %".201", 8
  store i64 %".202", ptr %".13"
  store i64 %".204", ptr %".107"
  store i32 %".44", ptr %".195"
  %".209" = mul i32 %".44", %".66"
  %".210" = add i32 %".209", %".185"
  store i32 %".210", ptr %".101"
  %".212" = icmp sge i32 %".210", %".207"
  br label %"b1"
b1:
  %".214" = load i64, ptr %".13"
  %".215" = add i64 %".214", 6
  store i64 %".215", ptr %".13"
  %".217" = load i64, ptr %".107"
  %".218" = load i32, ptr %".101"
  %".219" = sext i32 %".218" to i64
  %".220" = sext i32 4 to i64
  %".221" = mul i64 %".219", %".220"
  %".222" = add i64 %".217", %".221"
  %".223" = load i32, ptr %".194", align 4
  store i32 %".223", ptr %".195"
  %".225" = call i32 @"llvm.umin.i32"(i32 1, i32 31)
  %".226" = shl i32 %".223", %".225"
  %".227" = icmp ult i32 1, 32
  %".228" = select  i1 %".227", i32 %".226", i32 0
  store i32 %".228", ptr %".195"
  store i32 %".228", ptr %".194", align 4
  br label %"b2"
b2:
  %".232" = load i64, ptr %".13"
  %".233" = add i64 %".232", 1
  store i64 %".233", ptr %".13"
  store i32 0, ptr %".73"
  br label %"next_thread"
thread.1:
  %".250" = load i64, ptr %".246"
  %".251" = zext i32 %".66" to i64
  %".252" = trunc i64 %".250" to i32
  %".253" = add nuw nsw i32 %".245", %".252"
  store i32 %".252", ptr %".4"
  store i32 %".244", ptr %".5"
  store i32 %".243", ptr %".6"
  store i32 %".44", ptr %".7"
  store i32 %".45", ptr %".8"
  store i32 %".46", ptr %".9"
  store i32 0, ptr %".96"
  store i32 0, ptr %".101"
  store i64 0, ptr %".107"
  store i32 0, ptr %".195"
  br label %"b0.1"
next_thread.1:
  %".336" = add nuw nsw i64 %".250", 1
  store i64 %".336", ptr %".246"
  %".338" = add nuw nsw i32 %".253", 1
  store i32 %".338", ptr %".76"
  %".340" = icmp ult i64 %".336", %".251"
  br i1 %".340", label %"thread.1", label %"row_done"
b0.1:
  %".265" = load i64, ptr %".13"
  %".266" = add i64 %".265", 8
  store i64 %".266", ptr %".13"
  store i64 %".268", ptr %".107"
  store i32 %".44", ptr %".195"
  %".273" = mul i32 %".44", %".66"
  %".274" = add i32 %".273", %".252"
  store i32 %".274", ptr %".101"
  %".276" = icmp sge i32 %".274", %".271"
  br i1 %".276", label %"b2.1", label %"b1.1"
b2.1:
  %".331" = load i64, ptr %".13"
  %".332" = add i64 %".331", 1
  store i64 %".332", ptr %".13"
  store i32 0, ptr %".73"
  br label %"next_thread.1"
b1.1:
  %".278" = load i64, ptr %".13"
  %".279" = add i64 %".278", 6
  store i64 %".279", ptr %".13"
  %".281" = load i64, ptr %".107"
  %".282" = load i32, ptr %".101"
  %".283" = sext i32 %".282" to i64
  %".284" = sext i32 4 to i64
  %".285" = mul i64 %".283", %".284"
  %".286" = add i64 %".281", %".285"
  %".287" = sub i64 %".286", %".159"
  %".288" = call i64 @"llvm.fshr.i64"(i64 %".287", i64 %".287", i64 2)
  %".289" = icmp ult i64 %".288", %".160"
  br i1 %".289", label %"fast", label %"slow", !prof !3
fast:
  %".291" = getelementptr i8, ptr %".155", i64 %".287"
  br label %"after"
slow:
  %".293" = call ptr @"resolve_global"(ptr %".1", ptr %".11", i64 %".286", i64 4, i64 0)
  %".294" = icmp eq ptr %".293", null
  br i1 %".294", label %"fault", label %"after", !prof !4
after:
  %".321" = phi  ptr [%".291", %"fast"], [%".293", %"slow"]
  %".322" = load i32, ptr %".321", align 4
  store i32 %".322", ptr %".195"
  %".324" = call i32 @"llvm.umin.i32"(i32 1, i32 31)
  %".325" = shl i32 %".322", %".324"
  %".326" = icmp ult i32 1, 32
  %".327" = select  i1 %".326", i32 %".325", i32 0
  store i32 %".327", ptr %".195"
  store i32 %".327", ptr %".321", align 4
  br label %"b2.1"
fault:
  %".295" = load i32, ptr %".4"
  %".296" = zext i32 %".295" to i64
  %".297" = getelementptr i8, ptr %".1", i64 192
  store i64 %".296", ptr %".297", align 8
  %".299" = load i32, ptr %".5"
  %".300" = zext i32 %".299" to i64
  %".301" = getelementptr i8, ptr %".1", i64 200
  store i64 %".300", ptr %".301", align 8
  %".303" = load i32, ptr %".6"
  %".304" = zext i32 %".303" to i64
  %".305" = getelementptr i8, ptr %".1", i64 208
  store i64 %".304", ptr %".305", align 8
  %".307" = load i32, ptr %".7"
  %".308" = zext i32 %".307" to i64
  %".309" = getelementptr i8, ptr %".1", i64 216
  store i64 %".308", ptr %".309", align 8
  %".311" = load i32, ptr %".8"
  %".312" = zext i32 %".311" to i64
  %".313" = getelementptr i8, ptr %".1", i64 224
  store i64 %".312", ptr %".313", align 8
  %".315" = load i32, ptr %".9"
  %".316" = zext i32 %".315" to i64
  %".317" = getelementptr i8, ptr %".1", i64 232
  store i64 %".316", ptr %".317", align 8
  ret i32 1
tid_y_done:
  %".347" = load i32, ptr %".79"
  %".348" = add i32 %".347", 1
  store i32 %".348", ptr %".79"
  %".350" = icmp ult i32 %".348", %".70"
  br i1 %".350", label %"tid_z", label %"tid_z_done"
tid_z_done:
  br label %"next_block"
next_block.if:
  store i32 0, ptr %".30"
  %".362" = load i32, ptr %".33"
  %".363" = add i32 %".362", 1
  store i32 %".363", ptr %".33"
  %".365" = icmp eq i32 %".363", %".23"
  br i1 %".365", label %"next_block.if.if", label %"next_block.if.endif"
next_block.endif:
  br label %"block"
next_block.if.if:
  store i32 0, ptr %".33"
  %".368" = load i32, ptr %".36"
  %".369" = add i32 %".368", 1
  store i32 %".369", ptr %".36"
  br label %"next_block.if.endif"
next_block.if.endif:
  br label %"next_block.endif"
}
