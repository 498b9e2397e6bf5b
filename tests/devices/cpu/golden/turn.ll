define internal i32 @"kernel_0.body"(ptr %".1") noinline nounwind
{
slots:
  %".496" = alloca i64
  %".433" = alloca i64
  %".303" = alloca i32
  %".301" = alloca i32
  %".298" = alloca i32
  %".198" = alloca i64
  %".158" = alloca i64
  %".157" = alloca i64
  %".156" = alloca i32
  %".155" = alloca i64
  %".139" = alloca i64
  %".95" = alloca i32
  %".90" = alloca i32
  %".83" = alloca i32
  %".81" = alloca i32
  %".65" = alloca i32
  %".63" = alloca i32
  %".60" = alloca i32
  %".57" = alloca i32
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
  %".45" = getelementptr i8, ptr %".1", i64 48
  %".46" = load ptr, ptr %".45", align 8
  %".49" = getelementptr i8, ptr %".1", i64 112
  %".50" = load i32, ptr %".49", align 8, !range !1
  %".51" = getelementptr i8, ptr %".1", i64 120
  %".52" = load i32, ptr %".51", align 8, !range !1
  %".53" = getelementptr i8, ptr %".1", i64 128
  %".54" = load i32, ptr %".53", align 8, !range !1
  %".55" = mul i32 %".52", %".54"
  %".56" = mul i32 %".50", %".55"
  %".120" = getelementptr i8, ptr %".46", i64 1024
  %".126" = getelementptr i8, ptr %".46", i64 1024
  %".168" = load ptr, ptr %".1", align 8
  %".169" = load i64, ptr %".168", align 8
  %".221" = load i64, ptr %".168", align 8
  %".237" = getelementptr i8, ptr %".46", i64 1024
  %".331" = load i64, ptr %".168", align 8
  %".364" = load i64, ptr %".168", align 8
  %".385" = getelementptr i8, ptr %".46", i64 1024
  %".391" = getelementptr i8, ptr %".46", i64 1024
  %".397" = load i64, ptr %".168", align 1
  %".398" = getelementptr i8, ptr %".1", i64 16
  %".399" = load ptr, ptr %".398", align 8
  %".400" = getelementptr i8, ptr %".1", i64 24
  %".401" = load i64, ptr %".400", align 8
  %".402" = lshr i64 %".397", 40
  %".403" = mul i64 %".402", 2557247
  %".404" = and i64 %".403", 4194303
  %".405" = icmp ult i64 %".404", %".401"
  %".406" = select  i1 %".405", i64 %".404", i64 0
  %".407" = shl i64 %".406", 5
  %".408" = getelementptr i8, ptr %".399", i64 %".407"
  %".409" = load ptr, ptr %".408"
  %".410" = getelementptr i8, ptr %".408", i64 8
  %".411" = load i64, ptr %".410"
  %".412" = getelementptr i8, ptr %".408", i64 16
  %".413" = load i64, ptr %".412"
  %".416" = lshr i64 %".411", 2
  %".452" = getelementptr i8, ptr %".1", i64 80
  %".453" = load ptr, ptr %".452", align 8
  %".467" = load i64, ptr %".168", align 8
  %".524" = load i64, ptr %".168", align 8
  %".530" = getelementptr i8, ptr %".46", i64 1024
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
  %".47" = getelementptr i8, ptr %".46", i64 1024
  call void @"llvm.memset.p0.i64"(ptr %".47", i8 255, i64 128, i1 0)
  store i32 0, ptr %".57"
  br label %"region1"
end:
  ret i32 0
next_block:
  %".587" = load i64, ptr %".15"
  %".588" = add i64 %".587", 1
  store i64 %".588", ptr %".15"
  %".590" = load i32, ptr %".28"
  %".591" = add i32 %".590", 1
  store i32 %".591", ptr %".28"
  %".593" = icmp eq i32 %".591", %".18"
  br i1 %".593", label %"next_block.if", label %"next_block.endif"
region1:
  store i32 0, ptr %".60"
  store i32 0, ptr %".60"
  store i32 0, ptr %".63"
  store i32 0, ptr %".65"
  store i32 0, ptr %".63"
  br label %"tid_z"
tid_z:
  store i32 0, ptr %".65"
  br label %"tid_y"
tid_y:
  %".71" = load i32, ptr %".63"
  %".72" = load i32, ptr %".65"
  %".73" = sub i32 %".50", 1
  store i32 0, ptr %".4"
  store i32 %".72", ptr %".5"
  store i32 %".71", ptr %".6"
  store i32 %".42", ptr %".7"
  store i32 %".43", ptr %".8"
  store i32 %".44", ptr %".9"
  %".80" = trunc i64 1024 to i32
  store i32 %".80", ptr %".81"
  store i32 0, ptr %".83"
  %".85" = load i32, ptr %".83"
  %".86" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".87" = shl i32 %".85", %".86"
  %".88" = icmp ult i32 2, 32
  %".89" = select  i1 %".88", i32 %".87", i32 0
  store i32 %".89", ptr %".90"
  %".92" = load i32, ptr %".81"
  %".93" = load i32, ptr %".90"
  %".94" = add i32 %".92", %".93"
  store i32 %".94", ptr %".95"
  %".97" = load i32, ptr %".95"
  store i32 %".73", ptr %".4"
  store i32 %".72", ptr %".5"
  store i32 %".71", ptr %".6"
  store i32 %".42", ptr %".7"
  store i32 %".43", ptr %".8"
  store i32 %".44", ptr %".9"
  %".104" = trunc i64 1024 to i32
  store i32 %".104", ptr %".81"
  store i32 %".73", ptr %".83"
  %".107" = load i32, ptr %".83"
  %".108" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".109" = shl i32 %".107", %".108"
  %".110" = icmp ult i32 2, 32
  %".111" = select  i1 %".110", i32 %".109", i32 0
  store i32 %".111", ptr %".90"
  %".113" = load i32, ptr %".81"
  %".114" = load i32, ptr %".90"
  %".115" = add i32 %".113", %".114"
  store i32 %".115", ptr %".95"
  %".117" = load i32, ptr %".95"
  %".118" = zext i32 %".73" to i64
  %".119" = icmp uge i32 %".50", 16
  %".121" = sub i32 %".97", 1024
  %".122" = call i32 @"llvm.fshr.i32"(i32 %".121", i32 %".121", i32 2)
  %".123" = icmp ult i32 %".122", 32
  %".124" = zext i32 %".121" to i64
  %".125" = getelementptr i8, ptr %".120", i64 %".124"
  %".127" = sub i32 %".117", 1024
  %".128" = call i32 @"llvm.fshr.i32"(i32 %".127", i32 %".127", i32 2)
  %".129" = icmp ult i32 %".128", 32
  %".130" = zext i32 %".127" to i64
  %".131" = getelementptr i8, ptr %".126", i64 %".130"
  %".132" = and i1 1, %".119"
  %".133" = and i1 %".132", %".123"
  %".134" = and i1 %".133", %".129"
  br i1 %".134", label %"proven_row", label %"checked_row"
row_done:
  %".287" = load i32, ptr %".65"
  %".288" = add i32 %".287", 1
  store i32 %".288", ptr %".65"
  %".290" = icmp ult i32 %".288", %".52"
  br i1 %".290", label %"tid_y", label %"tid_y_done"
proven_row:
  %".136" = load i32, ptr %".63"
  %".137" = load i32, ptr %".65"
  %".138" = load i32, ptr %".60"
  store i64 0, ptr %".139"
  store i64 0, ptr %".139"
  br label %"thread"
checked_row:
  %".195" = load i32, ptr %".63"
  %".196" = load i32, ptr %".65"
  %".197" = load i32, ptr %".60"
  store i64 0, ptr %".198"
  store i64 0, ptr %".198"
  br label %"thread.1"
thread:
  %".143" = load i64, ptr %".139"
  %".144" = zext i32 %".50" to i64
  %".145" = trunc i64 %".143" to i32
  %".146" = add nuw nsw i32 %".138", %".145"
  store i32 %".145", ptr %".4"
  store i32 %".137", ptr %".5"
  store i32 %".136", ptr %".6"
  store i32 %".42", ptr %".7"
  store i32 %".43", ptr %".8"
  store i32 %".44", ptr %".9"
  %".153" = mul i64 %".143", 4
  %".154" = getelementptr i8, ptr %".125", i64 %".153"
  store i32 0, ptr %".81"
  store i32 0, ptr %".83"
  store i32 0, ptr %".90"
  store i32 0, ptr %".95"
  store i64 0, ptr %".155"
  store i32 0, ptr %".156"
  store i64 0, ptr %".157"
  store i64 0, ptr %".158"
  br label %"b0"
next_thread:
  %".189" = add nuw nsw i64 %".143", 1
  store i64 %".189", ptr %".139"
  %".191" = add nuw nsw i32 %".146", 1
  store i32 %".191", ptr %".60"
  %".193" = icmp ult i64 %".189", %".144"
  br i1 %".193", label %"thread", label %"row_done"
b0:
  store i64 %".169", ptr %".155"
  store i32 %".145", ptr %".83"
  %".172" = load i32, ptr %".83"
  %".173" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".174" = shl i32 %".172", %".173"
  %".175" = icmp ult i32 2, 32
  %".176" = select  i1 %".175", i32 %".174", i32 0
  store i32 %".176", ptr %".90"
  %".178" = trunc i64 1024 to i32
  store i32 %".178", ptr %".81"
  %".180" = load i32, ptr %".81"
  %".181" = load i32, ptr %".90"
  %".182" = add i32 %".180", %".181"
  store i32 %".182", ptr %".95"
  %".184" = load i32, ptr %".83"
  store i32 %".184", ptr %".154", align 4
  store i32 2, ptr %".57"
  br label %"next_thread"
region2:
  store i32 0, ptr %".298"
  store i32 0, ptr %".298"
  store i32 0, ptr %".301"
  store i32 0, ptr %".303"
  store i32 0, ptr %".301"
  br label %"tid_z.1"
never:
  unreachable
thread.1:
  %".202" = load i64, ptr %".198"
  %".203" = zext i32 %".50" to i64
  %".204" = trunc i64 %".202" to i32
  %".205" = add nuw nsw i32 %".197", %".204"
  store i32 %".204", ptr %".4"
  store i32 %".196", ptr %".5"
  store i32 %".195", ptr %".6"
  store i32 %".42", ptr %".7"
  store i32 %".43", ptr %".8"
  store i32 %".44", ptr %".9"
  store i32 0, ptr %".81"
  store i32 0, ptr %".83"
  store i32 0, ptr %".90"
  store i32 0, ptr %".95"
  store i64 0, ptr %".155"
  store i32 0, ptr %".156"
  store i64 0, ptr %".157"
  store i64 0, ptr %".158"
  br label %"b0.1"
next_thread.1:
  %".281" = add nuw nsw i64 %".202", 1
  store i64 %".281", ptr %".198"
  %".283" = add nuw nsw i32 %".205", 1
  store i32 %".283", ptr %".60"
  %".285" = icmp ult i64 %".281", %".203"
  br i1 %".285", label %"thread.1", label %"row_done"
b0.1:
  store i64 %".221", ptr %".155"
  store i32 %".204", ptr %".83"
  %".224" = load i32, ptr %".83"
  %".225" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".226" = shl i32 %".224", %".225"
  %".227" = icmp ult i32 2, 32
  %".228" = select  i1 %".227", i32 %".226", i32 0
  store i32 %".228", ptr %".90"
  %".230" = trunc i64 1024 to i32
  store i32 %".230", ptr %".81"
  %".232" = load i32, ptr %".81"
  %".233" = load i32, ptr %".90"
  %".234" = add i32 %".232", %".233"
  store i32 %".234", ptr %".95"
  %".236" = load i32, ptr %".95"
  %".238" = sub i32 %".236", 1024
  %".239" = call i32 @"llvm.fshr.i32"(i32 %".238", i32 %".238", i32 2)
  %".240" = icmp ult i32 %".239", 32
  br i1 %".240", label %"fast", label %"slow", !prof !2
fast:
  %".242" = zext i32 %".238" to i64
  %".243" = getelementptr i8, ptr %".237", i64 %".242"
  br label %"after"
slow:
  %".245" = zext i32 %".236" to i64
  %".246" = add i64 %".245", 3565187343784607744
  %".247" = call ptr @"resolve_shared"(ptr %".1", ptr %".11", i64 %".246", i64 4, i64 0)
  %".248" = icmp eq ptr %".247", null
  br i1 %".248", label %"fault", label %"after", !prof !3
after:
  %".275" = phi  ptr [%".243", %"fast"], [%".247", %"slow"]
  %".276" = load i32, ptr %".83"
  store i32 %".276", ptr %".275", align 4
  store i32 2, ptr %".57"
  br label %"next_thread.1"
fault:
  %".249" = load i32, ptr %".4"
  %".250" = zext i32 %".249" to i64
  %".251" = getelementptr i8, ptr %".1", i64 192
  store i64 %".250", ptr %".251", align 8
  %".253" = load i32, ptr %".5"
  %".254" = zext i32 %".253" to i64
  %".255" = getelementptr i8, ptr %".1", i64 200
  store i64 %".254", ptr %".255", align 8
  %".257" = load i32, ptr %".6"
  %".258" = zext i32 %".257" to i64
  %".259" = getelementptr i8, ptr %".1", i64 208
  store i64 %".258", ptr %".259", align 8
  %".261" = load i32, ptr %".7"
  %".262" = zext i32 %".261" to i64
  %".263" = getelementptr i8, ptr %".1", i64 216
  store i64 %".262", ptr %".263", align 8
  %".265" = load i32, ptr %".8"
  %".266" = zext i32 %".265" to i64
  %".267" = getelementptr i8, ptr %".1", i64 224
  store i64 %".266", ptr %".267", align 8
  %".269" = load i32, ptr %".9"
  %".270" = zext i32 %".269" to i64
  %".271" = getelementptr i8, ptr %".1", i64 232
  store i64 %".270", ptr %".271", align 8
  ret i32 1
never.1:
  unreachable
tid_y_done:
  %".292" = load i32, ptr %".63"
  %".293" = add i32 %".292", 1
  store i32 %".293", ptr %".63"
  %".295" = icmp ult i32 %".293", %".54"
  br i1 %".295", label %"tid_z", label %"tid_z_done"
tid_z_done:
  br label %"region2"
tid_z.1:
  store i32 0, ptr %".303"
  br label %"tid_y.1"
tid_y.1:
  %".309" = load i32, ptr %".301"
  %".310" = load i32, ptr %".303"
  %".311" = sub i32 %".50", 1
  store i32 0, ptr %".4"
  store i32 %".310", ptr %".5"
  store i32 %".309", ptr %".6"
  store i32 %".42", ptr %".7"
  store i32 %".43", ptr %".8"
  store i32 %".44", ptr %".9"
  store i32 0, ptr %".83"
  %".319" = trunc i64 1024 to i32
  store i32 %".319", ptr %".81"
  %".321" = load i32, ptr %".83"
  %".322" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".323" = shl i32 %".321", %".322"
  %".324" = icmp ult i32 2, 32
  %".325" = select  i1 %".324", i32 %".323", i32 0
  store i32 %".325", ptr %".90"
  %".327" = load i32, ptr %".81"
  %".328" = load i32, ptr %".90"
  %".329" = add i32 %".327", %".328"
  store i32 %".329", ptr %".95"
  store i64 %".331", ptr %".155"
  %".333" = load i32, ptr %".83"
  %".334" = zext i32 %".333" to i64
  %".335" = zext i32 4 to i64
  %".336" = mul i64 %".334", %".335"
  store i64 %".336", ptr %".157"
  %".338" = load i64, ptr %".155"
  %".339" = load i64, ptr %".157"
  %".340" = add i64 %".338", %".339"
  store i64 %".340", ptr %".158"
  %".342" = load i32, ptr %".83"
  %".343" = load i32, ptr %".95"
  %".344" = load i64, ptr %".158"
  store i32 %".311", ptr %".4"
  store i32 %".310", ptr %".5"
  store i32 %".309", ptr %".6"
  store i32 %".42", ptr %".7"
  store i32 %".43", ptr %".8"
  store i32 %".44", ptr %".9"
  store i32 %".311", ptr %".83"
  %".352" = trunc i64 1024 to i32
  store i32 %".352", ptr %".81"
  %".354" = load i32, ptr %".83"
  %".355" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".356" = shl i32 %".354", %".355"
  %".357" = icmp ult i32 2, 32
  %".358" = select  i1 %".357", i32 %".356", i32 0
  store i32 %".358", ptr %".90"
  %".360" = load i32, ptr %".81"
  %".361" = load i32, ptr %".90"
  %".362" = add i32 %".360", %".361"
  store i32 %".362", ptr %".95"
  store i64 %".364", ptr %".155"
  %".366" = load i32, ptr %".83"
  %".367" = zext i32 %".366" to i64
  %".368" = zext i32 4 to i64
  %".369" = mul i64 %".367", %".368"
  store i64 %".369", ptr %".157"
  %".371" = load i64, ptr %".155"
  %".372" = load i64, ptr %".157"
  %".373" = add i64 %".371", %".372"
  store i64 %".373", ptr %".158"
  %".375" = load i32, ptr %".83"
  %".376" = load i32, ptr %".95"
  %".377" = load i64, ptr %".158"
  %".378" = zext i32 %".311" to i64
  %".379" = icmp uge i32 %".50", 16
  %".380" = zext i32 %".375" to i64
  %".381" = zext i32 %".342" to i64
  %".382" = sub i64 %".380", %".381"
  %".383" = mul i64 %".378", 1
  %".384" = icmp eq i64 %".382", %".383"
  %".386" = sub i32 %".343", 1024
  %".387" = call i32 @"llvm.fshr.i32"(i32 %".386", i32 %".386", i32 2)
  %".388" = icmp ult i32 %".387", 32
  %".389" = zext i32 %".386" to i64
  %".390" = getelementptr i8, ptr %".385", i64 %".389"
  %".392" = sub i32 %".376", 1024
  %".393" = call i32 @"llvm.fshr.i32"(i32 %".392", i32 %".392", i32 2)
  %".394" = icmp ult i32 %".393", 32
  %".395" = zext i32 %".392" to i64
  %".396" = getelementptr i8, ptr %".391", i64 %".395"
  %".414" = sub i64 %".344", %".413"
  %".415" = call i64 @"llvm.fshr.i64"(i64 %".414", i64 %".414", i64 2)
  %".417" = icmp ult i64 %".415", %".416"
  %".418" = getelementptr i8, ptr %".409", i64 %".414"
  %".419" = sub i64 %".377", %".413"
  %".420" = call i64 @"llvm.fshr.i64"(i64 %".419", i64 %".419", i64 2)
  %".421" = icmp ult i64 %".420", %".416"
  %".422" = getelementptr i8, ptr %".409", i64 %".419"
  %".423" = and i1 1, %".379"
  %".424" = and i1 %".423", %".384"
  %".425" = and i1 %".424", %".388"
  %".426" = and i1 %".425", %".394"
  %".427" = and i1 %".426", %".417"
  %".428" = and i1 %".427", %".421"
  br i1 %".428", label %"proven_row.1", label %"checked_row.1"
row_done.1:
  %".576" = load i32, ptr %".303"
  %".577" = add i32 %".576", 1
  store i32 %".577", ptr %".303"
  %".579" = icmp ult i32 %".577", %".52"
  br i1 %".579", label %"tid_y.1", label %"tid_y_done.1"
proven_row.1:
  %".430" = load i32, ptr %".301"
  %".431" = load i32, ptr %".303"
  %".432" = load i32, ptr %".298"
  store i64 0, ptr %".433"
  store i64 0, ptr %".433"
  br label %"thread.2"
checked_row.1:
  %".493" = load i32, ptr %".301"
  %".494" = load i32, ptr %".303"
  %".495" = load i32, ptr %".298"
  store i64 0, ptr %".496"
  store i64 0, ptr %".496"
  br label %"thread.3"
thread.2:
  %".437" = load i64, ptr %".433"
  %".438" = zext i32 %".50" to i64
  %".439" = trunc i64 %".437" to i32
  %".440" = add nuw nsw i32 %".432", %".439"
  store i32 %".439", ptr %".4"
  store i32 %".431", ptr %".5"
  store i32 %".430", ptr %".6"
  store i32 %".42", ptr %".7"
  store i32 %".43", ptr %".8"
  store i32 %".44", ptr %".9"
  %".447" = mul i64 %".437", 4
  %".448" = getelementptr i8, ptr %".390", i64 %".447"
  %".449" = mul i64 %".437", 4
  %".450" = getelementptr i8, ptr %".418", i64 %".449"
  store i32 %".439", ptr %".83"
  %".455" = trunc i64 1024 to i32
  store i32 %".455", ptr %".81"
  %".457" = load i32, ptr %".83"
  %".458" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".459" = shl i32 %".457", %".458"
  %".460" = icmp ult i32 2, 32
  %".461" = select  i1 %".460", i32 %".459", i32 0
  store i32 %".461", ptr %".90"
  %".463" = load i32, ptr %".81"
  %".464" = load i32, ptr %".90"
  %".465" = add i32 %".463", %".464"
  store i32 %".465", ptr %".95"
  store i64 %".467", ptr %".155"
  %".469" = load i32, ptr %".83"
  %".470" = sub i32 31, %".469"
  store i32 %".470", ptr %".156"
  %".472" = load i32, ptr %".448", align 4
  store i32 %".472", ptr %".156"
  %".474" = load i32, ptr %".83"
  %".475" = zext i32 %".474" to i64
  %".476" = zext i32 4 to i64
  %".477" = mul i64 %".475", %".476"
  store i64 %".477", ptr %".157"
  %".479" = load i64, ptr %".155"
  %".480" = load i64, ptr %".157"
  %".481" = add i64 %".479", %".480"
  store i64 %".481", ptr %".158"
  %".483" = load i32, ptr %".156"
  store i32 %".483", ptr %".450", align 4
  store i32 0, ptr %".57"
  br label %"next_thread.2"
next_thread.2:
  %".487" = add nuw nsw i64 %".437", 1
  store i64 %".487", ptr %".433"
  %".489" = add nuw nsw i32 %".440", 1
  store i32 %".489", ptr %".298"
  %".491" = icmp ult i64 %".487", %".438"
  br i1 %".491", label %"thread.2", label %"row_done.1"
before:
  unreachable
thread.3:
  %".500" = load i64, ptr %".496"
  %".501" = zext i32 %".50" to i64
  %".502" = trunc i64 %".500" to i32
  %".503" = add nuw nsw i32 %".495", %".502"
  store i32 %".502", ptr %".4"
  store i32 %".494", ptr %".5"
  store i32 %".493", ptr %".6"
  store i32 %".42", ptr %".7"
  store i32 %".43", ptr %".8"
  store i32 %".44", ptr %".9"
  store i32 %".502", ptr %".83"
  %".512" = trunc i64 1024 to i32
  store i32 %".512", ptr %".81"
  %".514" = load i32, ptr %".83"
  %".515" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".516" = shl i32 %".514", %".515"
  %".517" = icmp ult i32 2, 32
  %".518" = select  i1 %".517", i32 %".516", i32 0
  store i32 %".518", ptr %".90"
  %".520" = load i32, ptr %".81"
  %".521" = load i32, ptr %".90"
  %".522" = add i32 %".520", %".521"
  store i32 %".522", ptr %".95"
  store i64 %".524", ptr %".155"
  %".526" = load i32, ptr %".83"
  %".527" = sub i32 31, %".526"
  store i32 %".527", ptr %".156"
  %".529" = load i32, ptr %".95"
  %".531" = sub i32 %".529", 1024
  %".532" = call i32 @"llvm.fshr.i32"(i32 %".531", i32 %".531", i32 2)
  %".533" = icmp ult i32 %".532", 32
  br i1 %".533", label %"fast.1", label %"slow.1", !prof !2
next_thread.3:
  %".570" = add nuw nsw i64 %".500", 1
  store i64 %".570", ptr %".496"
  %".572" = add nuw nsw i32 %".503", 1
  store i32 %".572", ptr %".298"
  %".574" = icmp ult i64 %".570", %".501"
  br i1 %".574", label %"thread.3", label %"row_done.1"
before.1:
  unreachable
fast.1:
  %".535" = zext i32 %".531" to i64
  %".536" = getelementptr i8, ptr %".530", i64 %".535"
  br label %"after.1"
slow.1:
  %".538" = zext i32 %".529" to i64
  %".539" = add i64 %".538", 3565187343784607744
  %".540" = call ptr @"resolve_shared"(ptr %".1", ptr %".11", i64 %".539", i64 4, i64 1)
  %".541" = icmp eq ptr %".540", null
  br i1 %".541", label %"fault", label %"after.1", !prof !3
after.1:
  %".543" = phi  ptr [%".536", %"fast.1"], [%".540", %"slow.1"]
  %".544" = load i32, ptr %".543", align 4
  store i32 %".544", ptr %".156"
  %".546" = load i32, ptr %".83"
  %".547" = zext i32 %".546" to i64
  %".548" = zext i32 4 to i64
  %".549" = mul i64 %".547", %".548"
  store i64 %".549", ptr %".157"
  %".551" = load i64, ptr %".155"
  %".552" = load i64, ptr %".157"
  %".553" = add i64 %".551", %".552"
  store i64 %".553", ptr %".158"
  %".555" = load i64, ptr %".158"
  %".556" = sub i64 %".555", %".413"
  %".557" = call i64 @"llvm.fshr.i64"(i64 %".556", i64 %".556", i64 2)
  %".558" = icmp ult i64 %".557", %".416"
  br i1 %".558", label %"fast.2", label %"slow.2", !prof !2
fast.2:
  %".560" = getelementptr i8, ptr %".409", i64 %".556"
  br label %"after.2"
slow.2:
  %".562" = call ptr @"resolve_global"(ptr %".1", ptr %".11", i64 %".555", i64 4, i64 2)
  %".563" = icmp eq ptr %".562", null
  br i1 %".563", label %"fault", label %"after.2", !prof !3
after.2:
  %".565" = phi  ptr [%".560", %"fast.2"], [%".562", %"slow.2"]
  %".566" = load i32, ptr %".156"
  store i32 %".566", ptr %".565", align 4
  store i32 0, ptr %".57"
  br label %"next_thread.3"
tid_y_done.1:
  %".581" = load i32, ptr %".301"
  %".582" = add i32 %".581", 1
  store i32 %".582", ptr %".301"
  %".584" = icmp ult i32 %".582", %".54"
  br i1 %".584", label %"tid_z.1", label %"tid_z_done.1"
tid_z_done.1:
  br label %"next_block"
next_block.if:
  store i32 0, ptr %".28"
  %".596" = load i32, ptr %".31"
  %".597" = add i32 %".596", 1
  store i32 %".597", ptr %".31"
  %".599" = icmp eq i32 %".597", %".21"
  br i1 %".599", label %"next_block.if.if", label %"next_block.if.endif"
next_block.endif:
  br label %"block"
next_block.if.if:
  store i32 0, ptr %".31"
  %".602" = load i32, ptr %".34"
  %".603" = add i32 %".602", 1
  store i32 %".603", ptr %".34"
  br label %"next_block.if.endif"
next_block.if.endif:
  br label %"next_block.endif"
}
