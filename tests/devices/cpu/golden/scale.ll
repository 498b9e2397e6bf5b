define internal i32 @"kernel_0.body"(ptr %".1") noinline nounwind
{
slots:
  %".228" = alloca i64
  %".177" = alloca i32
  %".161" = alloca i64
  %".89" = alloca i64
  %".83" = alloca i32
  %".78" = alloca i32
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
  %".85" = load ptr, ptr %".1", align 8
  %".86" = getelementptr i8, ptr %".85", i64 8
  %".87" = load i32, ptr %".86", align 4
  %".88" = load i64, ptr %".85", align 8
  %".107" = getelementptr i8, ptr %".85", i64 8
  %".108" = load i32, ptr %".107", align 4
  %".109" = load i64, ptr %".85", align 8
  %".125" = load i64, ptr %".85", align 1
  %".126" = getelementptr i8, ptr %".1", i64 16
  %".127" = load ptr, ptr %".126", align 8
  %".128" = getelementptr i8, ptr %".1", i64 24
  %".129" = load i64, ptr %".128", align 8
  %".130" = lshr i64 %".125", 40
  %".131" = mul i64 %".130", 2557247
  %".132" = and i64 %".131", 4194303
  %".133" = icmp ult i64 %".132", %".129"
  %".134" = select  i1 %".133", i64 %".132", i64 0
  %".135" = shl i64 %".134", 5
  %".136" = getelementptr i8, ptr %".127", i64 %".135"
  %".137" = load ptr, ptr %".136"
  %".138" = getelementptr i8, ptr %".136", i64 8
  %".139" = load i64, ptr %".138"
  %".140" = getelementptr i8, ptr %".136", i64 16
  %".141" = load i64, ptr %".140"
  %".142" = lshr i64 %".139", 2
  %".186" = load i64, ptr %".85", align 8
  %".188" = getelementptr i8, ptr %".85", i64 8
  %".189" = load i32, ptr %".188", align 4
  %".250" = load i64, ptr %".85", align 8
  %".252" = getelementptr i8, ptr %".85", i64 8
  %".253" = load i32, ptr %".252", align 4
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
  %".356" = getelementptr i8, ptr %".1", i64 248
  %".357" = load i64, ptr %".356", align 8
  %".358" = load i64, ptr %".13"
  %".359" = add i64 %".357", %".358"
  %".360" = getelementptr i8, ptr %".1", i64 248
  store i64 %".359", ptr %".360", align 8
  store i64 0, ptr %".13"
  ret i32 0
next_block:
  %".335" = load i64, ptr %".17"
  %".336" = add i64 %".335", 1
  store i64 %".336", ptr %".17"
  %".338" = load i32, ptr %".30"
  %".339" = add i32 %".338", 1
  store i32 %".339", ptr %".30"
  %".341" = icmp eq i32 %".339", %".20"
  br i1 %".341", label %"next_block.if", label %"next_block.endif"
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
  %".71" = sub i32 %".48", 1
  store i32 0, ptr %".4"
  store i32 %".70", ptr %".5"
  store i32 %".69", ptr %".6"
  store i32 %".44", ptr %".7"
  store i32 %".45", ptr %".8"
  store i32 %".46", ptr %".9"
  store i32 %".44", ptr %".78"
  %".80" = load i32, ptr %".78"
  %".81" = mul i32 %".80", %".48"
  %".82" = add i32 %".81", 0
  store i32 %".82", ptr %".83"
  store i64 %".88", ptr %".89"
  %".91" = sext i32 %".82" to i64
  %".92" = sext i32 4 to i64
  %".93" = mul i64 %".91", %".92"
  %".94" = add i64 %".88", %".93"
  %".95" = icmp sge i32 %".82", %".87"
  store i32 %".71", ptr %".4"
  store i32 %".70", ptr %".5"
  store i32 %".69", ptr %".6"
  store i32 %".44", ptr %".7"
  store i32 %".45", ptr %".8"
  store i32 %".46", ptr %".9"
  store i32 %".44", ptr %".78"
  %".103" = load i32, ptr %".78"
  %".104" = mul i32 %".103", %".48"
  %".105" = add i32 %".104", %".71"
  store i32 %".105", ptr %".83"
  store i64 %".109", ptr %".89"
  %".111" = sext i32 %".105" to i64
  %".112" = sext i32 4 to i64
  %".113" = mul i64 %".111", %".112"
  %".114" = add i64 %".109", %".113"
  %".115" = icmp sge i32 %".105", %".108"
  %".116" = zext i32 %".71" to i64
  %".117" = icmp uge i32 %".48", 16
  %".118" = sext i32 %".105" to i64
  %".119" = sext i32 %".82" to i64
  %".120" = sub i64 %".118", %".119"
  %".121" = mul i64 %".116", 1
  %".122" = icmp eq i64 %".120", %".121"
  %".123" = icmp eq i1 %".95", %".115"
  %".124" = xor i1 %".95", -1
  %".143" = sub i64 %".94", %".141"
  %".144" = call i64 @"llvm.fshr.i64"(i64 %".143", i64 %".143", i64 2)
  %".145" = icmp ult i64 %".144", %".142"
  %".146" = sub i64 %".114", %".141"
  %".147" = call i64 @"llvm.fshr.i64"(i64 %".146", i64 %".146", i64 2)
  %".148" = icmp ult i64 %".147", %".142"
  %".149" = sub i64 %".94", %".141"
  %".150" = getelementptr i8, ptr %".137", i64 %".149"
  %".151" = and i1 1, %".117"
  %".152" = and i1 %".151", %".122"
  %".153" = and i1 %".152", %".123"
  %".154" = and i1 %".153", %".124"
  %".155" = and i1 %".154", %".145"
  %".156" = and i1 %".155", %".148"
  br i1 %".156", label %"proven_row", label %"checked_row"
row_done:
  %".324" = load i32, ptr %".63"
  %".325" = add i32 %".324", 1
  store i32 %".325", ptr %".63"
  %".327" = icmp ult i32 %".325", %".50"
  br i1 %".327", label %"tid_y", label %"tid_y_done"
proven_row:
  %".158" = load i32, ptr %".61"
  %".159" = load i32, ptr %".63"
  %".160" = load i32, ptr %".58"
  store i64 0, ptr %".161"
  store i64 0, ptr %".161"
  br label %"thread"
checked_row:
  %".225" = load i32, ptr %".61"
  %".226" = load i32, ptr %".63"
  %".227" = load i32, ptr %".58"
  store i64 0, ptr %".228"
  store i64 0, ptr %".228"
  br label %"thread.1"
thread:
  %".165" = load i64, ptr %".161"
  %".166" = zext i32 %".48" to i64
  %".167" = trunc i64 %".165" to i32
  %".168" = add nuw nsw i32 %".160", %".167"
  store i32 %".167", ptr %".4"
  store i32 %".159", ptr %".5"
  store i32 %".158", ptr %".6"
  store i32 %".44", ptr %".7"
  store i32 %".45", ptr %".8"
  store i32 %".46", ptr %".9"
  %".175" = mul i64 %".165", 4
  %".176" = getelementptr i8, ptr %".150", i64 %".175"
  store i32 0, ptr %".78"
  store i32 0, ptr %".83"
  store i64 0, ptr %".89"
  store i32 0, ptr %".177"
  br label %"b0"
next_thread:
  %".219" = add nuw nsw i64 %".165", 1
  store i64 %".219", ptr %".161"
  %".221" = add nuw nsw i32 %".168", 1
  store i32 %".221", ptr %".58"
  %".223" = icmp ult i64 %".219", %".166"
  br i1 %".223", label %"thread", label %"row_done"
b0:
  %".183" = load i64, ptr %".13"
  %".184" = add i64 %".183", 8
  store i64 %".184", ptr %".13"
  store i64 %".186", ptr %".89"
  store i32 %".44", ptr %".177"
  %".191" = mul i32 %".44", %".48"
  %".192" = add i32 %".191", %".167"
  store i32 %".192", ptr %".83"
  %".194" = icmp sge i32 %".192", %".189"
  br label %"b1"
b1:
  %".196" = load i64, ptr %".13"
  %".197" = add i64 %".196", 6
  store i64 %".197", ptr %".13"
  %".199" = load i64, ptr %".89"
  %".200" = load i32, ptr %".83"
  %".201" = sext i32 %".200" to i64
  %".202" = sext i32 4 to i64
  %".203" = mul i64 %".201", %".202"
  %".204" = add i64 %".199", %".203"
  %".205" = load i32, ptr %".176", align 4
  store i32 %".205", ptr %".177"
  %".207" = call i32 @"llvm.umin.i32"(i32 1, i32 31)
  %".208" = shl i32 %".205", %".207"
  %".209" = icmp ult i32 1, 32
  %".210" = select  i1 %".209", i32 %".208", i32 0
  store i32 %".210", ptr %".177"
  store i32 %".210", ptr %".176", align 4
  br label %"b2"
b2:
  %".214" = load i64, ptr %".13"
  %".215" = add i64 %".214", 1
  store i64 %".215", ptr %".13"
  store i32 0, ptr %".55"
  br label %"next_thread"
thread.1:
  %".232" = load i64, ptr %".228"
  %".233" = zext i32 %".48" to i64
  %".234" = trunc i64 %".232" to i32
  %".235" = add nuw nsw i32 %".227", %".234"
  store i32 %".234", ptr %".4"
  store i32 %".226", ptr %".5"
  store i32 %".225", ptr %".6"
  store i32 %".44", ptr %".7"
  store i32 %".45", ptr %".8"
  store i32 %".46", ptr %".9"
  store i32 0, ptr %".78"
  store i32 0, ptr %".83"
  store i64 0, ptr %".89"
  store i32 0, ptr %".177"
  br label %"b0.1"
next_thread.1:
  %".318" = add nuw nsw i64 %".232", 1
  store i64 %".318", ptr %".228"
  %".320" = add nuw nsw i32 %".235", 1
  store i32 %".320", ptr %".58"
  %".322" = icmp ult i64 %".318", %".233"
  br i1 %".322", label %"thread.1", label %"row_done"
b0.1:
  %".247" = load i64, ptr %".13"
  %".248" = add i64 %".247", 8
  store i64 %".248", ptr %".13"
  store i64 %".250", ptr %".89"
  store i32 %".44", ptr %".177"
  %".255" = mul i32 %".44", %".48"
  %".256" = add i32 %".255", %".234"
  store i32 %".256", ptr %".83"
  %".258" = icmp sge i32 %".256", %".253"
  br i1 %".258", label %"b2.1", label %"b1.1"
b2.1:
  %".313" = load i64, ptr %".13"
  %".314" = add i64 %".313", 1
  store i64 %".314", ptr %".13"
  store i32 0, ptr %".55"
  br label %"next_thread.1"
b1.1:
  %".260" = load i64, ptr %".13"
  %".261" = add i64 %".260", 6
  store i64 %".261", ptr %".13"
  %".263" = load i64, ptr %".89"
  %".264" = load i32, ptr %".83"
  %".265" = sext i32 %".264" to i64
  %".266" = sext i32 4 to i64
  %".267" = mul i64 %".265", %".266"
  %".268" = add i64 %".263", %".267"
  %".269" = sub i64 %".268", %".141"
  %".270" = call i64 @"llvm.fshr.i64"(i64 %".269", i64 %".269", i64 2)
  %".271" = icmp ult i64 %".270", %".142"
  br i1 %".271", label %"fast", label %"slow", !prof !3
fast:
  %".273" = getelementptr i8, ptr %".137", i64 %".269"
  br label %"after"
slow:
  %".275" = call ptr @"resolve_global"(ptr %".1", ptr %".11", i64 %".268", i64 4, i64 0)
  %".276" = icmp eq ptr %".275", null
  br i1 %".276", label %"fault", label %"after", !prof !4
after:
  %".303" = phi  ptr [%".273", %"fast"], [%".275", %"slow"]
  %".304" = load i32, ptr %".303", align 4
  store i32 %".304", ptr %".177"
  %".306" = call i32 @"llvm.umin.i32"(i32 1, i32 31)
  %".307" = shl i32 %".304", %".306"
  %".308" = icmp ult i32 1, 32
  %".309" = select  i1 %".308", i32 %".307", i32 0
  store i32 %".309", ptr %".177"
  store i32 %".309", ptr %".303", align 4
  br label %"b2.1"
fault:
  %".277" = load i32, ptr %".4"
  %".278" = zext i32 %".277" to i64
  %".279" = getelementptr i8, ptr %".1", i64 192
  store i64 %".278", ptr %".279", align 8
  %".281" = load i32, ptr %".5"
  %".282" = zext i32 %".281" to i64
  %".283" = getelementptr i8, ptr %".1", i64 200
  store i64 %".282", ptr %".283", align 8
  %".285" = load i32, ptr %".6"
  %".286" = zext i32 %".285" to i64
  %".287" = getelementptr i8, ptr %".1", i64 208
  store i64 %".286", ptr %".287", align 8
  %".289" = load i32, ptr %".7"
  %".290" = zext i32 %".289" to i64
  %".291" = getelementptr i8, ptr %".1", i64 216
  store i64 %".290", ptr %".291", align 8
  %".293" = load i32, ptr %".8"
  %".294" = zext i32 %".293" to i64
  %".295" = getelementptr i8, ptr %".1", i64 224
  store i64 %".294", ptr %".295", align 8
  %".297" = load i32, ptr %".9"
  %".298" = zext i32 %".297" to i64
  %".299" = getelementptr i8, ptr %".1", i64 232
  store i64 %".298", ptr %".299", align 8
  ret i32 1
tid_y_done:
  %".329" = load i32, ptr %".61"
  %".330" = add i32 %".329", 1
  store i32 %".330", ptr %".61"
  %".332" = icmp ult i32 %".330", %".52"
  br i1 %".332", label %"tid_z", label %"tid_z_done"
tid_z_done:
  br label %"next_block"
next_block.if:
  store i32 0, ptr %".30"
  %".344" = load i32, ptr %".33"
  %".345" = add i32 %".344", 1
  store i32 %".345", ptr %".33"
  %".347" = icmp eq i32 %".345", %".23"
  br i1 %".347", label %"next_block.if.if", label %"next_block.if.endif"
next_block.endif:
  br label %"block"
next_block.if.if:
  store i32 0, ptr %".33"
  %".350" = load i32, ptr %".36"
  %".351" = add i32 %".350", 1
  store i32 %".351", ptr %".36"
  br label %"next_block.if.endif"
next_block.if.endif:
  br label %"next_block.endif"
}
