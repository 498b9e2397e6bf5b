define internal i32 @"kernel_0.body"(ptr %".1") noinline nounwind
{
slots:
  %".507" = alloca i64
  %".441" = alloca i64
  %".311" = alloca i32
  %".309" = alloca i32
  %".306" = alloca i32
  %".203" = alloca i64
  %".160" = alloca i64
  %".159" = alloca i64
  %".158" = alloca i32
  %".157" = alloca i64
  %".141" = alloca i64
  %".97" = alloca i32
  %".92" = alloca i32
  %".85" = alloca i32
  %".83" = alloca i32
  %".67" = alloca i32
  %".65" = alloca i32
  %".62" = alloca i32
  %".59" = alloca i32
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
  %".47" = getelementptr i8, ptr %".1", i64 48
  %".48" = load ptr, ptr %".47", align 8
  %".51" = getelementptr i8, ptr %".1", i64 112
  %".52" = load i32, ptr %".51", align 8, !range !1
  %".53" = getelementptr i8, ptr %".1", i64 120
  %".54" = load i32, ptr %".53", align 8, !range !1
  %".55" = getelementptr i8, ptr %".1", i64 128
  %".56" = load i32, ptr %".55", align 8, !range !1
  %".57" = mul i32 %".54", %".56"
  %".58" = mul i32 %".52", %".57"
  %".122" = getelementptr i8, ptr %".48", i64 1024
  %".128" = getelementptr i8, ptr %".48", i64 1024
  %".173" = load ptr, ptr %".1", align 8
  %".174" = load i64, ptr %".173", align 8
  %".229" = load i64, ptr %".173", align 8
  %".245" = getelementptr i8, ptr %".48", i64 1024
  %".339" = load i64, ptr %".173", align 8
  %".372" = load i64, ptr %".173", align 8
  %".393" = getelementptr i8, ptr %".48", i64 1024
  %".399" = getelementptr i8, ptr %".48", i64 1024
  %".405" = load i64, ptr %".173", align 1
  %".406" = getelementptr i8, ptr %".1", i64 16
  %".407" = load ptr, ptr %".406", align 8
  %".408" = getelementptr i8, ptr %".1", i64 24
  %".409" = load i64, ptr %".408", align 8
  %".410" = lshr i64 %".405", 40
  %".411" = mul i64 %".410", 2557247
  %".412" = and i64 %".411", 4194303
  %".413" = icmp ult i64 %".412", %".409"
  %".414" = select  i1 %".413", i64 %".412", i64 0
  %".415" = shl i64 %".414", 5
  %".416" = getelementptr i8, ptr %".407", i64 %".415"
  %".417" = load ptr, ptr %".416"
  %".418" = getelementptr i8, ptr %".416", i64 8
  %".419" = load i64, ptr %".418"
  %".420" = getelementptr i8, ptr %".416", i64 16
  %".421" = load i64, ptr %".420"
  %".424" = lshr i64 %".419", 2
  %".460" = getelementptr i8, ptr %".1", i64 80
  %".461" = load ptr, ptr %".460", align 8
  %".475" = load i64, ptr %".173", align 8
  %".535" = load i64, ptr %".173", align 8
  %".544" = getelementptr i8, ptr %".48", i64 1024
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
  %".49" = getelementptr i8, ptr %".48", i64 1024
  call void @"llvm.memset.p0.i64"(ptr %".49", i8 255, i64 128, i1 0)
  store i32 0, ptr %".59"
  br label %"region1"
end:
  %".622" = getelementptr i8, ptr %".1", i64 248
  %".623" = load i64, ptr %".622", align 8
  %".624" = load i64, ptr %".13"
  %".625" = add i64 %".623", %".624"
  %".626" = getelementptr i8, ptr %".1", i64 248
  store i64 %".625", ptr %".626", align 8
  ret i32 0
next_block:
  %".601" = load i64, ptr %".17"
  %".602" = add i64 %".601", 1
  store i64 %".602", ptr %".17"
  %".604" = load i32, ptr %".30"
  %".605" = add i32 %".604", 1
  store i32 %".605", ptr %".30"
  %".607" = icmp eq i32 %".605", %".20"
  br i1 %".607", label %"next_block.if", label %"next_block.endif"
region1:
  store i32 0, ptr %".62"
  store i32 0, ptr %".62"
  store i32 0, ptr %".65"
  store i32 0, ptr %".67"
  store i32 0, ptr %".65"
  br label %"tid_z"
tid_z:
  store i32 0, ptr %".67"
  br label %"tid_y"
tid_y:
  %".73" = load i32, ptr %".65"
  %".74" = load i32, ptr %".67"
  %".75" = sub i32 %".52", 1
  store i32 0, ptr %".4"
  store i32 %".74", ptr %".5"
  store i32 %".73", ptr %".6"
  store i32 %".44", ptr %".7"
  store i32 %".45", ptr %".8"
  store i32 %".46", ptr %".9"
  %".82" = trunc i64 1024 to i32
  store i32 %".82", ptr %".83"
  store i32 0, ptr %".85"
  %".87" = load i32, ptr %".85"
  %".88" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".89" = shl i32 %".87", %".88"
  %".90" = icmp ult i32 2, 32
  %".91" = select  i1 %".90", i32 %".89", i32 0
  store i32 %".91", ptr %".92"
  %".94" = load i32, ptr %".83"
  %".95" = load i32, ptr %".92"
  %".96" = add i32 %".94", %".95"
  store i32 %".96", ptr %".97"
  %".99" = load i32, ptr %".97"
  store i32 %".75", ptr %".4"
  store i32 %".74", ptr %".5"
  store i32 %".73", ptr %".6"
  store i32 %".44", ptr %".7"
  store i32 %".45", ptr %".8"
  store i32 %".46", ptr %".9"
  %".106" = trunc i64 1024 to i32
  store i32 %".106", ptr %".83"
  store i32 %".75", ptr %".85"
  %".109" = load i32, ptr %".85"
  %".110" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".111" = shl i32 %".109", %".110"
  %".112" = icmp ult i32 2, 32
  %".113" = select  i1 %".112", i32 %".111", i32 0
  store i32 %".113", ptr %".92"
  %".115" = load i32, ptr %".83"
  %".116" = load i32, ptr %".92"
  %".117" = add i32 %".115", %".116"
  store i32 %".117", ptr %".97"
  %".119" = load i32, ptr %".97"
  %".120" = zext i32 %".75" to i64
  %".121" = icmp uge i32 %".52", 16
  %".123" = sub i32 %".99", 1024
  %".124" = call i32 @"llvm.fshr.i32"(i32 %".123", i32 %".123", i32 2)
  %".125" = icmp ult i32 %".124", 32
  %".126" = zext i32 %".123" to i64
  %".127" = getelementptr i8, ptr %".122", i64 %".126"
  %".129" = sub i32 %".119", 1024
  %".130" = call i32 @"llvm.fshr.i32"(i32 %".129", i32 %".129", i32 2)
  %".131" = icmp ult i32 %".130", 32
  %".132" = zext i32 %".129" to i64
  %".133" = getelementptr i8, ptr %".128", i64 %".132"
  %".134" = and i1 1, %".121"
  %".135" = and i1 %".134", %".125"
  %".136" = and i1 %".135", %".131"
  br i1 %".136", label %"proven_row", label %"checked_row"
row_done:
  %".295" = load i32, ptr %".67"
  %".296" = add i32 %".295", 1
  store i32 %".296", ptr %".67"
  %".298" = icmp ult i32 %".296", %".54"
  br i1 %".298", label %"tid_y", label %"tid_y_done"
proven_row:
  %".138" = load i32, ptr %".65"
  %".139" = load i32, ptr %".67"
  %".140" = load i32, ptr %".62"
  store i64 0, ptr %".141"
  store i64 0, ptr %".141"
  br label %"thread"
checked_row:
  %".200" = load i32, ptr %".65"
  %".201" = load i32, ptr %".67"
  %".202" = load i32, ptr %".62"
  store i64 0, ptr %".203"
  store i64 0, ptr %".203"
  br label %"thread.1"
thread:
  %".145" = load i64, ptr %".141"
  %".146" = zext i32 %".52" to i64
  %".147" = trunc i64 %".145" to i32
  %".148" = add nuw nsw i32 %".140", %".147"
  store i32 %".147", ptr %".4"
  store i32 %".139", ptr %".5"
  store i32 %".138", ptr %".6"
  store i32 %".44", ptr %".7"
  store i32 %".45", ptr %".8"
  store i32 %".46", ptr %".9"
  %".155" = mul i64 %".145", 4
  %".156" = getelementptr i8, ptr %".127", i64 %".155"
  store i32 0, ptr %".83"
  store i32 0, ptr %".85"
  store i32 0, ptr %".92"
  store i32 0, ptr %".97"
  store i64 0, ptr %".157"
  store i32 0, ptr %".158"
  store i64 0, ptr %".159"
  store i64 0, ptr %".160"
  br label %"b0"
next_thread:
  %".194" = add nuw nsw i64 %".145", 1
  store i64 %".194", ptr %".141"
  %".196" = add nuw nsw i32 %".148", 1
  store i32 %".196", ptr %".62"
  %".198" = icmp ult i64 %".194", %".146"
  br i1 %".198", label %"thread", label %"row_done"
b0:
  %".170" = load i64, ptr %".13"
  %".171" = add i64 %".170", 7
  store i64 %".171", ptr %".13"
  store i64 %".174", ptr %".157"
  store i32 %".147", ptr %".85"
  %".177" = load i32, ptr %".85"
  %".178" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".179" = shl i32 %".177", %".178"
  %".180" = icmp ult i32 2, 32
  %".181" = select  i1 %".180", i32 %".179", i32 0
  store i32 %".181", ptr %".92"
  %".183" = trunc i64 1024 to i32
  store i32 %".183", ptr %".83"
  %".185" = load i32, ptr %".83"
  %".186" = load i32, ptr %".92"
  %".187" = add i32 %".185", %".186"
  store i32 %".187", ptr %".97"
  %".189" = load i32, ptr %".85"
  store i32 %".189", ptr %".156", align 4
  store i32 2, ptr %".59"
  br label %"next_thread"
region2:
  store i32 0, ptr %".306"
  store i32 0, ptr %".306"
  store i32 0, ptr %".309"
  store i32 0, ptr %".311"
  store i32 0, ptr %".309"
  br label %"tid_z.1"
never:
  unreachable
thread.1:
  %".207" = load i64, ptr %".203"
  %".208" = zext i32 %".52" to i64
  %".209" = trunc i64 %".207" to i32
  %".210" = add nuw nsw i32 %".202", %".209"
  store i32 %".209", ptr %".4"
  store i32 %".201", ptr %".5"
  store i32 %".200", ptr %".6"
  store i32 %".44", ptr %".7"
  store i32 %".45", ptr %".8"
  store i32 %".46", ptr %".9"
  store i32 0, ptr %".83"
  store i32 0, ptr %".85"
  store i32 0, ptr %".92"
  store i32 0, ptr %".97"
  store i64 0, ptr %".157"
  store i32 0, ptr %".158"
  store i64 0, ptr %".159"
  store i64 0, ptr %".160"
  br label %"b0.1"
next_thread.1:
  %".289" = add nuw nsw i64 %".207", 1
  store i64 %".289", ptr %".203"
  %".291" = add nuw nsw i32 %".210", 1
  store i32 %".291", ptr %".62"
  %".293" = icmp ult i64 %".289", %".208"
  br i1 %".293", label %"thread.1", label %"row_done"
b0.1:
  %".226" = load i64, ptr %".13"
  %".227" = add i64 %".226", 7
  store i64 %".227", ptr %".13"
  store i64 %".229", ptr %".157"
  store i32 %".209", ptr %".85"
  %".232" = load i32, ptr %".85"
  %".233" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".234" = shl i32 %".232", %".233"
  %".235" = icmp ult i32 2, 32
  %".236" = select  i1 %".235", i32 %".234", i32 0
  store i32 %".236", ptr %".92"
  %".238" = trunc i64 1024 to i32
  store i32 %".238", ptr %".83"
  %".240" = load i32, ptr %".83"
  %".241" = load i32, ptr %".92"
  %".242" = add i32 %".240", %".241"
  store i32 %".242", ptr %".97"
  %".244" = load i32, ptr %".97"
  %".246" = sub i32 %".244", 1024
  %".247" = call i32 @"llvm.fshr.i32"(i32 %".246", i32 %".246", i32 2)
  %".248" = icmp ult i32 %".247", 32
  br i1 %".248", label %"fast", label %"slow", !prof !2
fast:
  %".250" = zext i32 %".246" to i64
  %".251" = getelementptr i8, ptr %".245", i64 %".250"
  br label %"after"
slow:
  %".253" = zext i32 %".244" to i64
  %".254" = add i64 %".253", 3565187343784607744
  %".255" = call ptr @"resolve_shared"(ptr %".1", ptr %".11", i64 %".254", i64 4, i64 0)
  %".256" = icmp eq ptr %".255", null
  br i1 %".256", label %"fault", label %"after", !prof !3
after:
  %".283" = phi  ptr [%".251", %"fast"], [%".255", %"slow"]
  %".284" = load i32, ptr %".85"
  store i32 %".284", ptr %".283", align 4
  store i32 2, ptr %".59"
  br label %"next_thread.1"
fault:
  %".257" = load i32, ptr %".4"
  %".258" = zext i32 %".257" to i64
  %".259" = getelementptr i8, ptr %".1", i64 192
  store i64 %".258", ptr %".259", align 8
  %".261" = load i32, ptr %".5"
  %".262" = zext i32 %".261" to i64
  %".263" = getelementptr i8, ptr %".1", i64 200
  store i64 %".262", ptr %".263", align 8
  %".265" = load i32, ptr %".6"
  %".266" = zext i32 %".265" to i64
  %".267" = getelementptr i8, ptr %".1", i64 208
  store i64 %".266", ptr %".267", align 8
  %".269" = load i32, ptr %".7"
  %".270" = zext i32 %".269" to i64
  %".271" = getelementptr i8, ptr %".1", i64 216
  store i64 %".270", ptr %".271", align 8
  %".273" = load i32, ptr %".8"
  %".274" = zext i32 %".273" to i64
  %".275" = getelementptr i8, ptr %".1", i64 224
  store i64 %".274", ptr %".275", align 8
  %".277" = load i32, ptr %".9"
  %".278" = zext i32 %".277" to i64
  %".279" = getelementptr i8, ptr %".1", i64 232
  store i64 %".278", ptr %".279", align 8
  ret i32 1
never.1:
  unreachable
tid_y_done:
  %".300" = load i32, ptr %".65"
  %".301" = add i32 %".300", 1
  store i32 %".301", ptr %".65"
  %".303" = icmp ult i32 %".301", %".56"
  br i1 %".303", label %"tid_z", label %"tid_z_done"
tid_z_done:
  br label %"region2"
tid_z.1:
  store i32 0, ptr %".311"
  br label %"tid_y.1"
tid_y.1:
  %".317" = load i32, ptr %".309"
  %".318" = load i32, ptr %".311"
  %".319" = sub i32 %".52", 1
  store i32 0, ptr %".4"
  store i32 %".318", ptr %".5"
  store i32 %".317", ptr %".6"
  store i32 %".44", ptr %".7"
  store i32 %".45", ptr %".8"
  store i32 %".46", ptr %".9"
  store i32 0, ptr %".85"
  %".327" = trunc i64 1024 to i32
  store i32 %".327", ptr %".83"
  %".329" = load i32, ptr %".85"
  %".330" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".331" = shl i32 %".329", %".330"
  %".332" = icmp ult i32 2, 32
  %".333" = select  i1 %".332", i32 %".331", i32 0
  store i32 %".333", ptr %".92"
  %".335" = load i32, ptr %".83"
  %".336" = load i32, ptr %".92"
  %".337" = add i32 %".335", %".336"
  store i32 %".337", ptr %".97"
  store i64 %".339", ptr %".157"
  %".341" = load i32, ptr %".85"
  %".342" = zext i32 %".341" to i64
  %".343" = zext i32 4 to i64
  %".344" = mul i64 %".342", %".343"
  store i64 %".344", ptr %".159"
  %".346" = load i64, ptr %".157"
  %".347" = load i64, ptr %".159"
  %".348" = add i64 %".346", %".347"
  store i64 %".348", ptr %".160"
  %".350" = load i32, ptr %".85"
  %".351" = load i32, ptr %".97"
  %".352" = load i64, ptr %".160"
  store i32 %".319", ptr %".4"
  store i32 %".318", ptr %".5"
  store i32 %".317", ptr %".6"
  store i32 %".44", ptr %".7"
  store i32 %".45", ptr %".8"
  store i32 %".46", ptr %".9"
  store i32 %".319", ptr %".85"
  %".360" = trunc i64 1024 to i32
  store i32 %".360", ptr %".83"
  %".362" = load i32, ptr %".85"
  %".363" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".364" = shl i32 %".362", %".363"
  %".365" = icmp ult i32 2, 32
  %".366" = select  i1 %".365", i32 %".364", i32 0
  store i32 %".366", ptr %".92"
  %".368" = load i32, ptr %".83"
  %".369" = load i32, ptr %".92"
  %".370" = add i32 %".368", %".369"
  store i32 %".370", ptr %".97"
  store i64 %".372", ptr %".157"
  %".374" = load i32, ptr %".85"
  %".375" = zext i32 %".374" to i64
  %".376" = zext i32 4 to i64
  %".377" = mul i64 %".375", %".376"
  store i64 %".377", ptr %".159"
  %".379" = load i64, ptr %".157"
  %".380" = load i64, ptr %".159"
  %".381" = add i64 %".379", %".380"
  store i64 %".381", ptr %".160"
  %".383" = load i32, ptr %".85"
  %".384" = load i32, ptr %".97"
  %".385" = load i64, ptr %".160"
  %".386" = zext i32 %".319" to i64
  %".387" = icmp uge i32 %".52", 16
  %".388" = zext i32 %".383" to i64
  %".389" = zext i32 %".350" to i64
  %".390" = sub i64 %".388", %".389"
  %".391" = mul i64 %".386", 1
  %".392" = icmp eq i64 %".390", %".391"
  %".394" = sub i32 %".351", 1024
  %".395" = call i32 @"llvm.fshr.i32"(i32 %".394", i32 %".394", i32 2)
  %".396" = icmp ult i32 %".395", 32
  %".397" = zext i32 %".394" to i64
  %".398" = getelementptr i8, ptr %".393", i64 %".397"
  %".400" = sub i32 %".384", 1024
  %".401" = call i32 @"llvm.fshr.i32"(i32 %".400", i32 %".400", i32 2)
  %".402" = icmp ult i32 %".401", 32
  %".403" = zext i32 %".400" to i64
  %".404" = getelementptr i8, ptr %".399", i64 %".403"
  %".422" = sub i64 %".352", %".421"
  %".423" = call i64 @"llvm.fshr.i64"(i64 %".422", i64 %".422", i64 2)
  %".425" = icmp ult i64 %".423", %".424"
  %".426" = getelementptr i8, ptr %".417", i64 %".422"
  %".427" = sub i64 %".385", %".421"
  %".428" = call i64 @"llvm.fshr.i64"(i64 %".427", i64 %".427", i64 2)
  %".429" = icmp ult i64 %".428", %".424"
  %".430" = getelementptr i8, ptr %".417", i64 %".427"
  %".431" = and i1 1, %".387"
  %".432" = and i1 %".431", %".392"
  %".433" = and i1 %".432", %".396"
  %".434" = and i1 %".433", %".402"
  %".435" = and i1 %".434", %".425"
  %".436" = and i1 %".435", %".429"
  br i1 %".436", label %"proven_row.1", label %"checked_row.1"
row_done.1:
  %".590" = load i32, ptr %".311"
  %".591" = add i32 %".590", 1
  store i32 %".591", ptr %".311"
  %".593" = icmp ult i32 %".591", %".54"
  br i1 %".593", label %"tid_y.1", label %"tid_y_done.1"
proven_row.1:
  %".438" = load i32, ptr %".309"
  %".439" = load i32, ptr %".311"
  %".440" = load i32, ptr %".306"
  store i64 0, ptr %".441"
  store i64 0, ptr %".441"
  br label %"thread.2"
checked_row.1:
  %".504" = load i32, ptr %".309"
  %".505" = load i32, ptr %".311"
  %".506" = load i32, ptr %".306"
  store i64 0, ptr %".507"
  store i64 0, ptr %".507"
  br label %"thread.3"
thread.2:
  %".445" = load i64, ptr %".441"
  %".446" = zext i32 %".52" to i64
  %".447" = trunc i64 %".445" to i32
  %".448" = add nuw nsw i32 %".440", %".447"
  store i32 %".447", ptr %".4"
  store i32 %".439", ptr %".5"
  store i32 %".438", ptr %".6"
  store i32 %".44", ptr %".7"
  store i32 %".45", ptr %".8"
  store i32 %".46", ptr %".9"
  %".455" = mul i64 %".445", 4
  %".456" = getelementptr i8, ptr %".398", i64 %".455"
  %".457" = mul i64 %".445", 4
  %".458" = getelementptr i8, ptr %".426", i64 %".457"
  store i32 %".447", ptr %".85"
  %".463" = trunc i64 1024 to i32
  store i32 %".463", ptr %".83"
  %".465" = load i32, ptr %".85"
  %".466" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".467" = shl i32 %".465", %".466"
  %".468" = icmp ult i32 2, 32
  %".469" = select  i1 %".468", i32 %".467", i32 0
  store i32 %".469", ptr %".92"
  %".471" = load i32, ptr %".83"
  %".472" = load i32, ptr %".92"
  %".473" = add i32 %".471", %".472"
  store i32 %".473", ptr %".97"
  store i64 %".475", ptr %".157"
  %".477" = load i64, ptr %".13"
  %".478" = add i64 %".477", 6
  store i64 %".478", ptr %".13"
  %".480" = load i32, ptr %".85"
  %".481" = sub i32 31, %".480"
  store i32 %".481", ptr %".158"
  %".483" = load i32, ptr %".456", align 4
  store i32 %".483", ptr %".158"
  %".485" = load i32, ptr %".85"
  %".486" = zext i32 %".485" to i64
  %".487" = zext i32 4 to i64
  %".488" = mul i64 %".486", %".487"
  store i64 %".488", ptr %".159"
  %".490" = load i64, ptr %".157"
  %".491" = load i64, ptr %".159"
  %".492" = add i64 %".490", %".491"
  store i64 %".492", ptr %".160"
  %".494" = load i32, ptr %".158"
  store i32 %".494", ptr %".458", align 4
  store i32 0, ptr %".59"
  br label %"next_thread.2"
next_thread.2:
  %".498" = add nuw nsw i64 %".445", 1
  store i64 %".498", ptr %".441"
  %".500" = add nuw nsw i32 %".448", 1
  store i32 %".500", ptr %".306"
  %".502" = icmp ult i64 %".498", %".446"
  br i1 %".502", label %"thread.2", label %"row_done.1"
before:
  unreachable
thread.3:
  %".511" = load i64, ptr %".507"
  %".512" = zext i32 %".52" to i64
  %".513" = trunc i64 %".511" to i32
  %".514" = add nuw nsw i32 %".506", %".513"
  store i32 %".513", ptr %".4"
  store i32 %".505", ptr %".5"
  store i32 %".504", ptr %".6"
  store i32 %".44", ptr %".7"
  store i32 %".45", ptr %".8"
  store i32 %".46", ptr %".9"
  store i32 %".513", ptr %".85"
  %".523" = trunc i64 1024 to i32
  store i32 %".523", ptr %".83"
  %".525" = load i32, ptr %".85"
  %".526" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".527" = shl i32 %".525", %".526"
  %".528" = icmp ult i32 2, 32
  %".529" = select  i1 %".528", i32 %".527", i32 0
  store i32 %".529", ptr %".92"
  %".531" = load i32, ptr %".83"
  %".532" = load i32, ptr %".92"
  %".533" = add i32 %".531", %".532"
  store i32 %".533", ptr %".97"
  store i64 %".535", ptr %".157"
  %".537" = load i64, ptr %".13"
  %".538" = add i64 %".537", 6
  store i64 %".538", ptr %".13"
  %".540" = load i32, ptr %".85"
  %".541" = sub i32 31, %".540"
  store i32 %".541", ptr %".158"
  %".543" = load i32, ptr %".97"
  %".545" = sub i32 %".543", 1024
  %".546" = call i32 @"llvm.fshr.i32"(i32 %".545", i32 %".545", i32 2)
  %".547" = icmp ult i32 %".546", 32
  br i1 %".547", label %"fast.1", label %"slow.1", !prof !2
next_thread.3:
  %".584" = add nuw nsw i64 %".511", 1
  store i64 %".584", ptr %".507"
  %".586" = add nuw nsw i32 %".514", 1
  store i32 %".586", ptr %".306"
  %".588" = icmp ult i64 %".584", %".512"
  br i1 %".588", label %"thread.3", label %"row_done.1"
before.1:
  unreachable
fast.1:
  %".549" = zext i32 %".545" to i64
  %".550" = getelementptr i8, ptr %".544", i64 %".549"
  br label %"after.1"
slow.1:
  %".552" = zext i32 %".543" to i64
  %".553" = add i64 %".552", 3565187343784607744
  %".554" = call ptr @"resolve_shared"(ptr %".1", ptr %".11", i64 %".553", i64 4, i64 1)
  %".555" = icmp eq ptr %".554", null
  br i1 %".555", label %"fault", label %"after.1", !prof !3
after.1:
  %".557" = phi  ptr [%".550", %"fast.1"], [%".554", %"slow.1"]
  %".558" = load i32, ptr %".557", align 4
  store i32 %".558", ptr %".158"
  %".560" = load i32, ptr %".85"
  %".561" = zext i32 %".560" to i64
  %".562" = zext i32 4 to i64
  %".563" = mul i64 %".561", %".562"
  store i64 %".563", ptr %".159"
  %".565" = load i64, ptr %".157"
  %".566" = load i64, ptr %".159"
  %".567" = add i64 %".565", %".566"
  store i64 %".567", ptr %".160"
  %".569" = load i64, ptr %".160"
  %".570" = sub i64 %".569", %".421"
  %".571" = call i64 @"llvm.fshr.i64"(i64 %".570", i64 %".570", i64 2)
  %".572" = icmp ult i64 %".571", %".424"
  br i1 %".572", label %"fast.2", label %"slow.2", !prof !2
fast.2:
  %".574" = getelementptr i8, ptr %".417", i64 %".570"
  br label %"after.2"
slow.2:
  %".576" = call ptr @"resolve_global"(ptr %".1", ptr %".11", i64 %".569", i64 4, i64 2)
  %".577" = icmp eq ptr %".576", null
  br i1 %".577", label %"fault", label %"after.2", !prof !3
after.2:
  %".579" = phi  ptr [%".574", %"fast.2"], [%".576", %"slow.2"]
  %".580" = load i32, ptr %".158"
  store i32 %".580", ptr %".579", align 4
  store i32 0, ptr %".59"
  br label %"next_thread.3"
tid_y_done.1:
  %".595" = load i32, ptr %".309"
  %".596" = add i32 %".595", 1
  store i32 %".596", ptr %".309"
  %".598" = icmp ult i32 %".596", %".56"
  br i1 %".598", label %"tid_z.1", label %"tid_z_done.1"
tid_z_done.1:
  br label %"next_block"
next_block.if:
  store i32 0, ptr %".30"
  %".610" = load i32, ptr %".33"
  %".611" = add i32 %".610", 1
  store i32 %".611", ptr %".33"
  %".613" = icmp eq i32 %".611", %".23"
  br i1 %".613", label %"next_block.if.if", label %"next_block.if.endif"
next_block.endif:
  br label %"block"
next_block.if.if:
  store i32 0, ptr %".33"
  %".616" = load i32, ptr %".36"
  %".617" = add i32 %".616", 1
  store i32 %".617", ptr %".36"
  br label %"next_block.if.endif"
next_block.if.endif:
  br label %"next_block.endif"
}
