define internal i32 @"kernel_0.body"(ptr %".1") noinline nounwind
{
slots:
  %".496" = alloca i64
  %".433" = alloca i64
  %".303" = alloca i32
  %".301" = alloca i32
  %".298" = alloca i32
  %".198" = alloca i64
  %".157" = alloca i64
  %".156" = alloca i64
  %".155" = alloca i32
  %".154" = alloca i64
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
  %".167" = load ptr, ptr %".1", align 8
  %".168" = load i64, ptr %".167", align 8
  %".220" = load i64, ptr %".167", align 8
  %".236" = getelementptr i8, ptr %".46", i64 1024
  %".331" = load i64, ptr %".167", align 8
  %".364" = load i64, ptr %".167", align 8
  %".385" = getelementptr i8, ptr %".46", i64 1024
  %".391" = getelementptr i8, ptr %".46", i64 1024
  %".397" = load i64, ptr %".167", align 1
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
  %".451" = getelementptr i8, ptr %".1", i64 80
  %".452" = load ptr, ptr %".451", align 8
  %".466" = load i64, ptr %".167", align 8
  %".523" = load i64, ptr %".167", align 8
  %".529" = getelementptr i8, ptr %".46", i64 1024
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
  %".136" = load i32, ptr %".60"
  %".137" = load i32, ptr %".63"
  %".138" = load i32, ptr %".65"
  store i64 0, ptr %".139"
  store i64 0, ptr %".139"
  br label %"thread"
checked_row:
  %".195" = load i32, ptr %".60"
  %".196" = load i32, ptr %".63"
  %".197" = load i32, ptr %".65"
  store i64 0, ptr %".198"
  store i64 0, ptr %".198"
  br label %"thread.1"
thread:
  %".143" = load i64, ptr %".139"
  %".144" = trunc i64 %".143" to i32
  %".145" = add nuw nsw i32 %".136", %".144"
  store i32 %".144", ptr %".4"
  store i32 %".138", ptr %".5"
  store i32 %".137", ptr %".6"
  store i32 %".42", ptr %".7"
  store i32 %".43", ptr %".8"
  store i32 %".44", ptr %".9"
  %".152" = mul i64 %".143", 4
  %".153" = getelementptr i8, ptr %".125", i64 %".152"
  store i32 0, ptr %".81"
  store i32 0, ptr %".83"
  store i32 0, ptr %".90"
  store i32 0, ptr %".95"
  store i64 0, ptr %".154"
  store i32 0, ptr %".155"
  store i64 0, ptr %".156"
  store i64 0, ptr %".157"
  br label %"b0"
next_thread:
  %".188" = add nuw nsw i64 %".143", 1
  store i64 %".188", ptr %".139"
  %".190" = add nuw nsw i32 %".145", 1
  store i32 %".190", ptr %".60"
  %".192" = zext i32 %".50" to i64
  %".193" = icmp ult i64 %".188", %".192"
  br i1 %".193", label %"thread", label %"row_done"
b0:
  store i64 %".168", ptr %".154"
  store i32 %".144", ptr %".83"
  %".171" = load i32, ptr %".83"
  %".172" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".173" = shl i32 %".171", %".172"
  %".174" = icmp ult i32 2, 32
  %".175" = select  i1 %".174", i32 %".173", i32 0
  store i32 %".175", ptr %".90"
  %".177" = trunc i64 1024 to i32
  store i32 %".177", ptr %".81"
  %".179" = load i32, ptr %".81"
  %".180" = load i32, ptr %".90"
  %".181" = add i32 %".179", %".180"
  store i32 %".181", ptr %".95"
  %".183" = load i32, ptr %".83"
  store i32 %".183", ptr %".153", align 4
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
  %".203" = trunc i64 %".202" to i32
  %".204" = add nuw nsw i32 %".195", %".203"
  store i32 %".203", ptr %".4"
  store i32 %".197", ptr %".5"
  store i32 %".196", ptr %".6"
  store i32 %".42", ptr %".7"
  store i32 %".43", ptr %".8"
  store i32 %".44", ptr %".9"
  store i32 0, ptr %".81"
  store i32 0, ptr %".83"
  store i32 0, ptr %".90"
  store i32 0, ptr %".95"
  store i64 0, ptr %".154"
  store i32 0, ptr %".155"
  store i64 0, ptr %".156"
  store i64 0, ptr %".157"
  br label %"b0.1"
next_thread.1:
  %".280" = add nuw nsw i64 %".202", 1
  store i64 %".280", ptr %".198"
  %".282" = add nuw nsw i32 %".204", 1
  store i32 %".282", ptr %".60"
  %".284" = zext i32 %".50" to i64
  %".285" = icmp ult i64 %".280", %".284"
  br i1 %".285", label %"thread.1", label %"row_done"
b0.1:
  store i64 %".220", ptr %".154"
  store i32 %".203", ptr %".83"
  %".223" = load i32, ptr %".83"
  %".224" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".225" = shl i32 %".223", %".224"
  %".226" = icmp ult i32 2, 32
  %".227" = select  i1 %".226", i32 %".225", i32 0
  store i32 %".227", ptr %".90"
  %".229" = trunc i64 1024 to i32
  store i32 %".229", ptr %".81"
  %".231" = load i32, ptr %".81"
  %".232" = load i32, ptr %".90"
  %".233" = add i32 %".231", %".232"
  store i32 %".233", ptr %".95"
  %".235" = load i32, ptr %".95"
  %".237" = sub i32 %".235", 1024
  %".238" = call i32 @"llvm.fshr.i32"(i32 %".237", i32 %".237", i32 2)
  %".239" = icmp ult i32 %".238", 32
  br i1 %".239", label %"fast", label %"slow", !prof !2
fast:
  %".241" = zext i32 %".237" to i64
  %".242" = getelementptr i8, ptr %".236", i64 %".241"
  br label %"after"
slow:
  %".244" = zext i32 %".235" to i64
  %".245" = add i64 %".244", 3565187343784607744
  %".246" = call ptr @"resolve_shared"(ptr %".1", ptr %".11", i64 %".245", i64 4, i64 0)
  %".247" = icmp eq ptr %".246", null
  br i1 %".247", label %"fault", label %"after", !prof !3
after:
  %".274" = phi  ptr [%".242", %"fast"], [%".246", %"slow"]
  %".275" = load i32, ptr %".83"
  store i32 %".275", ptr %".274", align 4
  store i32 2, ptr %".57"
  br label %"next_thread.1"
fault:
  %".248" = load i32, ptr %".4"
  %".249" = zext i32 %".248" to i64
  %".250" = getelementptr i8, ptr %".1", i64 192
  store i64 %".249", ptr %".250", align 8
  %".252" = load i32, ptr %".5"
  %".253" = zext i32 %".252" to i64
  %".254" = getelementptr i8, ptr %".1", i64 200
  store i64 %".253", ptr %".254", align 8
  %".256" = load i32, ptr %".6"
  %".257" = zext i32 %".256" to i64
  %".258" = getelementptr i8, ptr %".1", i64 208
  store i64 %".257", ptr %".258", align 8
  %".260" = load i32, ptr %".7"
  %".261" = zext i32 %".260" to i64
  %".262" = getelementptr i8, ptr %".1", i64 216
  store i64 %".261", ptr %".262", align 8
  %".264" = load i32, ptr %".8"
  %".265" = zext i32 %".264" to i64
  %".266" = getelementptr i8, ptr %".1", i64 224
  store i64 %".265", ptr %".266", align 8
  %".268" = load i32, ptr %".9"
  %".269" = zext i32 %".268" to i64
  %".270" = getelementptr i8, ptr %".1", i64 232
  store i64 %".269", ptr %".270", align 8
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
  store i64 %".331", ptr %".154"
  %".333" = load i32, ptr %".83"
  %".334" = zext i32 %".333" to i64
  %".335" = zext i32 4 to i64
  %".336" = mul i64 %".334", %".335"
  store i64 %".336", ptr %".156"
  %".338" = load i64, ptr %".154"
  %".339" = load i64, ptr %".156"
  %".340" = add i64 %".338", %".339"
  store i64 %".340", ptr %".157"
  %".342" = load i32, ptr %".83"
  %".343" = load i32, ptr %".95"
  %".344" = load i64, ptr %".157"
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
  store i64 %".364", ptr %".154"
  %".366" = load i32, ptr %".83"
  %".367" = zext i32 %".366" to i64
  %".368" = zext i32 4 to i64
  %".369" = mul i64 %".367", %".368"
  store i64 %".369", ptr %".156"
  %".371" = load i64, ptr %".154"
  %".372" = load i64, ptr %".156"
  %".373" = add i64 %".371", %".372"
  store i64 %".373", ptr %".157"
  %".375" = load i32, ptr %".83"
  %".376" = load i32, ptr %".95"
  %".377" = load i64, ptr %".157"
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
  %".430" = load i32, ptr %".298"
  %".431" = load i32, ptr %".301"
  %".432" = load i32, ptr %".303"
  store i64 0, ptr %".433"
  store i64 0, ptr %".433"
  br label %"thread.2"
checked_row.1:
  %".493" = load i32, ptr %".298"
  %".494" = load i32, ptr %".301"
  %".495" = load i32, ptr %".303"
  store i64 0, ptr %".496"
  store i64 0, ptr %".496"
  br label %"thread.3"
thread.2:
  %".437" = load i64, ptr %".433"
  %".438" = trunc i64 %".437" to i32
  %".439" = add nuw nsw i32 %".430", %".438"
  store i32 %".438", ptr %".4"
  store i32 %".432", ptr %".5"
  store i32 %".431", ptr %".6"
  store i32 %".42", ptr %".7"
  store i32 %".43", ptr %".8"
  store i32 %".44", ptr %".9"
  %".446" = mul i64 %".437", 4
  %".447" = getelementptr i8, ptr %".390", i64 %".446"
  %".448" = mul i64 %".437", 4
  %".449" = getelementptr i8, ptr %".418", i64 %".448"
  store i32 %".438", ptr %".83"
  %".454" = trunc i64 1024 to i32
  store i32 %".454", ptr %".81"
  %".456" = load i32, ptr %".83"
  %".457" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".458" = shl i32 %".456", %".457"
  %".459" = icmp ult i32 2, 32
  %".460" = select  i1 %".459", i32 %".458", i32 0
  store i32 %".460", ptr %".90"
  %".462" = load i32, ptr %".81"
  %".463" = load i32, ptr %".90"
  %".464" = add i32 %".462", %".463"
  store i32 %".464", ptr %".95"
  store i64 %".466", ptr %".154"
  %".468" = load i32, ptr %".83"
  %".469" = sub i32 31, %".468"
  store i32 %".469", ptr %".155"
  %".471" = load i32, ptr %".447", align 4
  store i32 %".471", ptr %".155"
  %".473" = load i32, ptr %".83"
  %".474" = zext i32 %".473" to i64
  %".475" = zext i32 4 to i64
  %".476" = mul i64 %".474", %".475"
  store i64 %".476", ptr %".156"
  %".478" = load i64, ptr %".154"
  %".479" = load i64, ptr %".156"
  %".480" = add i64 %".478", %".479"
  store i64 %".480", ptr %".157"
  %".482" = load i32, ptr %".155"
  store i32 %".482", ptr %".449", align 4
  store i32 0, ptr %".57"
  br label %"next_thread.2"
next_thread.2:
  %".486" = add nuw nsw i64 %".437", 1
  store i64 %".486", ptr %".433"
  %".488" = add nuw nsw i32 %".439", 1
  store i32 %".488", ptr %".298"
  %".490" = zext i32 %".50" to i64
  %".491" = icmp ult i64 %".486", %".490"
  br i1 %".491", label %"thread.2", label %"row_done.1"
before:
  unreachable
thread.3:
  %".500" = load i64, ptr %".496"
  %".501" = trunc i64 %".500" to i32
  %".502" = add nuw nsw i32 %".493", %".501"
  store i32 %".501", ptr %".4"
  store i32 %".495", ptr %".5"
  store i32 %".494", ptr %".6"
  store i32 %".42", ptr %".7"
  store i32 %".43", ptr %".8"
  store i32 %".44", ptr %".9"
  store i32 %".501", ptr %".83"
  %".511" = trunc i64 1024 to i32
  store i32 %".511", ptr %".81"
  %".513" = load i32, ptr %".83"
  %".514" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".515" = shl i32 %".513", %".514"
  %".516" = icmp ult i32 2, 32
  %".517" = select  i1 %".516", i32 %".515", i32 0
  store i32 %".517", ptr %".90"
  %".519" = load i32, ptr %".81"
  %".520" = load i32, ptr %".90"
  %".521" = add i32 %".519", %".520"
  store i32 %".521", ptr %".95"
  store i64 %".523", ptr %".154"
  %".525" = load i32, ptr %".83"
  %".526" = sub i32 31, %".525"
  store i32 %".526", ptr %".155"
  %".528" = load i32, ptr %".95"
  %".530" = sub i32 %".528", 1024
  %".531" = call i32 @"llvm.fshr.i32"(i32 %".530", i32 %".530", i32 2)
  %".532" = icmp ult i32 %".531", 32
  br i1 %".532", label %"fast.1", label %"slow.1", !prof !2
next_thread.3:
  %".569" = add nuw nsw i64 %".500", 1
  store i64 %".569", ptr %".496"
  %".571" = add nuw nsw i32 %".502", 1
  store i32 %".571", ptr %".298"
  %".573" = zext i32 %".50" to i64
  %".574" = icmp ult i64 %".569", %".573"
  br i1 %".574", label %"thread.3", label %"row_done.1"
before.1:
  unreachable
fast.1:
  %".534" = zext i32 %".530" to i64
  %".535" = getelementptr i8, ptr %".529", i64 %".534"
  br label %"after.1"
slow.1:
  %".537" = zext i32 %".528" to i64
  %".538" = add i64 %".537", 3565187343784607744
  %".539" = call ptr @"resolve_shared"(ptr %".1", ptr %".11", i64 %".538", i64 4, i64 1)
  %".540" = icmp eq ptr %".539", null
  br i1 %".540", label %"fault", label %"after.1", !prof !3
after.1:
  %".542" = phi  ptr [%".535", %"fast.1"], [%".539", %"slow.1"]
  %".543" = load i32, ptr %".542", align 4
  store i32 %".543", ptr %".155"
  %".545" = load i32, ptr %".83"
  %".546" = zext i32 %".545" to i64
  %".547" = zext i32 4 to i64
  %".548" = mul i64 %".546", %".547"
  store i64 %".548", ptr %".156"
  %".550" = load i64, ptr %".154"
  %".551" = load i64, ptr %".156"
  %".552" = add i64 %".550", %".551"
  store i64 %".552", ptr %".157"
  %".554" = load i64, ptr %".157"
  %".555" = sub i64 %".554", %".413"
  %".556" = call i64 @"llvm.fshr.i64"(i64 %".555", i64 %".555", i64 2)
  %".557" = icmp ult i64 %".556", %".416"
  br i1 %".557", label %"fast.2", label %"slow.2", !prof !2
fast.2:
  %".559" = getelementptr i8, ptr %".409", i64 %".555"
  br label %"after.2"
slow.2:
  %".561" = call ptr @"resolve_global"(ptr %".1", ptr %".11", i64 %".554", i64 4, i64 2)
  %".562" = icmp eq ptr %".561", null
  br i1 %".562", label %"fault", label %"after.2", !prof !3
after.2:
  %".564" = phi  ptr [%".559", %"fast.2"], [%".561", %"slow.2"]
  %".565" = load i32, ptr %".155"
  store i32 %".565", ptr %".564", align 4
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
