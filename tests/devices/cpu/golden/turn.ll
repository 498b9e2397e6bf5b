define internal i32 @"kernel_0.body"(ptr %".1") noinline nounwind
{
slots:
  %".421" = alloca i64
  %".369" = alloca i64
  %".268" = alloca i32
  %".266" = alloca i32
  %".263" = alloca i32
  %".173" = alloca i64
  %".141" = alloca i64
  %".125" = alloca i64
  %".90" = alloca i32
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
  %".20" = load i32, ptr %".19", align 8, !range !1
  %".22" = getelementptr i8, ptr %".1", i64 96
  %".23" = load i32, ptr %".22", align 8, !range !1
  %".40" = getelementptr i8, ptr %".1", i64 144
  %".41" = load i64, ptr %".40", align 8
  %".47" = getelementptr i8, ptr %".1", i64 48
  %".48" = load ptr, ptr %".47", align 8
  %".51" = getelementptr i8, ptr %".1", i64 112
  %".52" = load i32, ptr %".51", align 8, !range !2
  %".53" = getelementptr i8, ptr %".1", i64 120
  %".54" = load i32, ptr %".53", align 8, !range !2
  %".55" = getelementptr i8, ptr %".1", i64 128
  %".56" = load i32, ptr %".55", align 8, !range !2
  %".57" = mul i32 %".54", %".56"
  %".58" = mul i32 %".52", %".57"
  %".108" = getelementptr i8, ptr %".48", i64 1024
  %".149" = load ptr, ptr %".1", align 8
  %".150" = load i64, ptr %".149", align 8
  %".194" = load i64, ptr %".149", align 8
  %".291" = load i64, ptr %".149", align 8
  %".311" = load i64, ptr %".149", align 8
  %".333" = load i64, ptr %".149", align 1
  %".334" = getelementptr i8, ptr %".1", i64 16
  %".335" = load ptr, ptr %".334", align 8
  %".336" = getelementptr i8, ptr %".1", i64 24
  %".337" = load i64, ptr %".336", align 8
  %".338" = lshr i64 %".333", 40
  %".339" = mul i64 %".338", 2557247
  %".340" = and i64 %".339", 4194303
  %".341" = icmp ult i64 %".340", %".337"
  %".342" = select  i1 %".341", i64 %".340", i64 0
  %".343" = shl i64 %".342", 5
  %".344" = getelementptr i8, ptr %".335", i64 %".343"
  %".345" = load ptr, ptr %".344"
  %".346" = getelementptr i8, ptr %".344", i64 8
  %".347" = load i64, ptr %".346"
  %".348" = getelementptr i8, ptr %".344", i64 16
  %".349" = load i64, ptr %".348"
  %".350" = lshr i64 %".347", 2
  %".396" = load i64, ptr %".149", align 8
  %".444" = load i64, ptr %".149", align 8
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
  %".522" = getelementptr i8, ptr %".1", i64 248
  %".523" = load i64, ptr %".522", align 8
  %".524" = load i64, ptr %".13"
  %".525" = add i64 %".523", %".524"
  %".526" = getelementptr i8, ptr %".1", i64 248
  store i64 %".525", ptr %".526", align 8
  store i64 0, ptr %".13"
  ret i32 0
next_block:
  %".501" = load i64, ptr %".17"
  %".502" = add i64 %".501", 1
  store i64 %".502", ptr %".17"
  %".504" = load i32, ptr %".30"
  %".505" = add i32 %".504", 1
  store i32 %".505", ptr %".30"
  %".507" = icmp eq i32 %".505", %".20"
  br i1 %".507", label %"next_block.if", label %"next_block.endif"
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
  store i32 0, ptr %".83"
  %".85" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".86" = shl i32 0, %".85"
  %".87" = icmp ult i32 2, 32
  %".88" = select  i1 %".87", i32 %".86", i32 0
  %".89" = add i32 %".82", %".88"
  store i32 %".89", ptr %".90"
  store i32 %".75", ptr %".4"
  store i32 %".74", ptr %".5"
  store i32 %".73", ptr %".6"
  store i32 %".44", ptr %".7"
  store i32 %".45", ptr %".8"
  store i32 %".46", ptr %".9"
  %".98" = trunc i64 1024 to i32
  store i32 %".75", ptr %".83"
  %".100" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".101" = shl i32 %".75", %".100"
  %".102" = icmp ult i32 2, 32
  %".103" = select  i1 %".102", i32 %".101", i32 0
  %".104" = add i32 %".98", %".103"
  store i32 %".104", ptr %".90"
  %".106" = zext i32 %".75" to i64
  %".107" = icmp uge i32 %".52", 16
  %".109" = sub i32 %".89", 1024
  %".110" = call i32 @"llvm.fshr.i32"(i32 %".109", i32 %".109", i32 2)
  %".111" = icmp ult i32 %".110", 32
  %".112" = sub i32 %".104", 1024
  %".113" = call i32 @"llvm.fshr.i32"(i32 %".112", i32 %".112", i32 2)
  %".114" = icmp ult i32 %".113", 32
  %".115" = sub i32 %".89", 1024
  %".116" = zext i32 %".115" to i64
  %".117" = getelementptr i8, ptr %".108", i64 %".116"
  %".118" = and i1 1, %".107"
  %".119" = and i1 %".118", %".111"
  %".120" = and i1 %".119", %".114"
  br i1 %".120", label %"proven_row", label %"checked_row"
row_done:
  %".252" = load i32, ptr %".67"
  %".253" = add i32 %".252", 1
  store i32 %".253", ptr %".67"
  %".255" = icmp ult i32 %".253", %".54"
  br i1 %".255", label %"tid_y", label %"tid_y_done"
proven_row:
  %".122" = load i32, ptr %".65"
  %".123" = load i32, ptr %".67"
  %".124" = load i32, ptr %".62"
  store i64 0, ptr %".125"
  store i64 0, ptr %".125"
  br label %"thread"
checked_row:
  %".170" = load i32, ptr %".65"
  %".171" = load i32, ptr %".67"
  %".172" = load i32, ptr %".62"
  store i64 0, ptr %".173"
  store i64 0, ptr %".173"
  br label %"thread.1"
thread:
  %".129" = load i64, ptr %".125"
  %".130" = zext i32 %".52" to i64
  %".131" = trunc i64 %".129" to i32
  %".132" = add nuw nsw i32 %".124", %".131"
  store i32 %".131", ptr %".4"
  store i32 %".123", ptr %".5"
  store i32 %".122", ptr %".6"
  store i32 %".44", ptr %".7"
  store i32 %".45", ptr %".8"
  store i32 %".46", ptr %".9"
  %".139" = mul i64 %".129", 4
  %".140" = getelementptr i8, ptr %".117", i64 %".139"
  store i32 0, ptr %".83"
  store i32 0, ptr %".90"
  store i64 0, ptr %".141"
  br label %"b0"
next_thread:
  %".164" = add nuw nsw i64 %".129", 1
  store i64 %".164", ptr %".125"
  %".166" = add nuw nsw i32 %".132", 1
  store i32 %".166", ptr %".62"
  %".168" = icmp ult i64 %".164", %".130"
  br i1 %".168", label %"thread", label %"row_done"
b0:
  %".146" = load i64, ptr %".13"
  %".147" = add i64 %".146", 7
  store i64 %".147", ptr %".13"
  store i64 %".150", ptr %".141"
  store i32 %".131", ptr %".83"
  %".153" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".154" = shl i32 %".131", %".153"
  %".155" = icmp ult i32 2, 32
  %".156" = select  i1 %".155", i32 %".154", i32 0
  %".157" = trunc i64 1024 to i32
  %".158" = add i32 %".157", %".156"
  store i32 %".158", ptr %".90"
  store i32 %".131", ptr %".140", align 4
  store i32 2, ptr %".59"
  br label %"next_thread"
region2:
  store i32 0, ptr %".263"
  store i32 0, ptr %".263"
  store i32 0, ptr %".266"
  store i32 0, ptr %".268"
  store i32 0, ptr %".266"
  br label %"tid_z.1"
never:
  unreachable
thread.1:
  %".177" = load i64, ptr %".173"
  %".178" = zext i32 %".52" to i64
  %".179" = trunc i64 %".177" to i32
  %".180" = add nuw nsw i32 %".172", %".179"
  store i32 %".179", ptr %".4"
  store i32 %".171", ptr %".5"
  store i32 %".170", ptr %".6"
  store i32 %".44", ptr %".7"
  store i32 %".45", ptr %".8"
  store i32 %".46", ptr %".9"
  store i32 0, ptr %".83"
  store i32 0, ptr %".90"
  store i64 0, ptr %".141"
  br label %"b0.1"
next_thread.1:
  %".246" = add nuw nsw i64 %".177", 1
  store i64 %".246", ptr %".173"
  %".248" = add nuw nsw i32 %".180", 1
  store i32 %".248", ptr %".62"
  %".250" = icmp ult i64 %".246", %".178"
  br i1 %".250", label %"thread.1", label %"row_done"
b0.1:
  %".191" = load i64, ptr %".13"
  %".192" = add i64 %".191", 7
  store i64 %".192", ptr %".13"
  store i64 %".194", ptr %".141"
  store i32 %".179", ptr %".83"
  %".197" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".198" = shl i32 %".179", %".197"
  %".199" = icmp ult i32 2, 32
  %".200" = select  i1 %".199", i32 %".198", i32 0
  %".201" = trunc i64 1024 to i32
  %".202" = add i32 %".201", %".200"
  store i32 %".202", ptr %".90"
  %".204" = sub i32 %".202", 1024
  %".205" = call i32 @"llvm.fshr.i32"(i32 %".204", i32 %".204", i32 2)
  %".206" = icmp ult i32 %".205", 32
  br i1 %".206", label %"fast", label %"slow", !prof !3
fast:
  %".208" = zext i32 %".204" to i64
  %".209" = getelementptr i8, ptr %".108", i64 %".208"
  br label %"after"
slow:
  %".211" = zext i32 %".202" to i64
  %".212" = add i64 %".211", 3565187343784607744
  %".213" = call ptr @"resolve_shared"(ptr %".1", ptr %".11", i64 %".212", i64 4, i64 0)
  %".214" = icmp eq ptr %".213", null
  br i1 %".214", label %"fault", label %"after", !prof !4
after:
  %".241" = phi  ptr [%".209", %"fast"], [%".213", %"slow"]
  store i32 %".179", ptr %".241", align 4
  store i32 2, ptr %".59"
  br label %"next_thread.1"
fault:
  %".215" = load i32, ptr %".4"
  %".216" = zext i32 %".215" to i64
  %".217" = getelementptr i8, ptr %".1", i64 192
  store i64 %".216", ptr %".217", align 8
  %".219" = load i32, ptr %".5"
  %".220" = zext i32 %".219" to i64
  %".221" = getelementptr i8, ptr %".1", i64 200
  store i64 %".220", ptr %".221", align 8
  %".223" = load i32, ptr %".6"
  %".224" = zext i32 %".223" to i64
  %".225" = getelementptr i8, ptr %".1", i64 208
  store i64 %".224", ptr %".225", align 8
  %".227" = load i32, ptr %".7"
  %".228" = zext i32 %".227" to i64
  %".229" = getelementptr i8, ptr %".1", i64 216
  store i64 %".228", ptr %".229", align 8
  %".231" = load i32, ptr %".8"
  %".232" = zext i32 %".231" to i64
  %".233" = getelementptr i8, ptr %".1", i64 224
  store i64 %".232", ptr %".233", align 8
  %".235" = load i32, ptr %".9"
  %".236" = zext i32 %".235" to i64
  %".237" = getelementptr i8, ptr %".1", i64 232
  store i64 %".236", ptr %".237", align 8
  ret i32 1
never.1:
  unreachable
tid_y_done:
  %".257" = load i32, ptr %".65"
  %".258" = add i32 %".257", 1
  store i32 %".258", ptr %".65"
  %".260" = icmp ult i32 %".258", %".56"
  br i1 %".260", label %"tid_z", label %"tid_z_done"
tid_z_done:
  br label %"region2"
tid_z.1:
  store i32 0, ptr %".268"
  br label %"tid_y.1"
tid_y.1:
  %".274" = load i32, ptr %".266"
  %".275" = load i32, ptr %".268"
  %".276" = sub i32 %".52", 1
  store i32 0, ptr %".4"
  store i32 %".275", ptr %".5"
  store i32 %".274", ptr %".6"
  store i32 %".44", ptr %".7"
  store i32 %".45", ptr %".8"
  store i32 %".46", ptr %".9"
  store i32 0, ptr %".83"
  %".284" = trunc i64 1024 to i32
  %".285" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".286" = shl i32 0, %".285"
  %".287" = icmp ult i32 2, 32
  %".288" = select  i1 %".287", i32 %".286", i32 0
  %".289" = add i32 %".284", %".288"
  store i32 %".289", ptr %".90"
  store i64 %".291", ptr %".141"
  %".293" = zext i32 0 to i64
  %".294" = zext i32 4 to i64
  %".295" = mul i64 %".293", %".294"
  %".296" = add i64 %".291", %".295"
  store i32 %".276", ptr %".4"
  store i32 %".275", ptr %".5"
  store i32 %".274", ptr %".6"
  store i32 %".44", ptr %".7"
  store i32 %".45", ptr %".8"
  store i32 %".46", ptr %".9"
  store i32 %".276", ptr %".83"
  %".304" = trunc i64 1024 to i32
  %".305" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".306" = shl i32 %".276", %".305"
  %".307" = icmp ult i32 2, 32
  %".308" = select  i1 %".307", i32 %".306", i32 0
  %".309" = add i32 %".304", %".308"
  store i32 %".309", ptr %".90"
  store i64 %".311", ptr %".141"
  %".313" = zext i32 %".276" to i64
  %".314" = zext i32 4 to i64
  %".315" = mul i64 %".313", %".314"
  %".316" = add i64 %".311", %".315"
  %".317" = zext i32 %".276" to i64
  %".318" = icmp uge i32 %".52", 16
  %".319" = zext i32 %".276" to i64
  %".320" = zext i32 0 to i64
  %".321" = sub i64 %".319", %".320"
  %".322" = mul i64 %".317", 1
  %".323" = icmp eq i64 %".321", %".322"
  %".324" = sub i32 %".289", 1024
  %".325" = call i32 @"llvm.fshr.i32"(i32 %".324", i32 %".324", i32 2)
  %".326" = icmp ult i32 %".325", 32
  %".327" = sub i32 %".309", 1024
  %".328" = call i32 @"llvm.fshr.i32"(i32 %".327", i32 %".327", i32 2)
  %".329" = icmp ult i32 %".328", 32
  %".330" = sub i32 %".289", 1024
  %".331" = zext i32 %".330" to i64
  %".332" = getelementptr i8, ptr %".108", i64 %".331"
  %".351" = sub i64 %".296", %".349"
  %".352" = call i64 @"llvm.fshr.i64"(i64 %".351", i64 %".351", i64 2)
  %".353" = icmp ult i64 %".352", %".350"
  %".354" = sub i64 %".316", %".349"
  %".355" = call i64 @"llvm.fshr.i64"(i64 %".354", i64 %".354", i64 2)
  %".356" = icmp ult i64 %".355", %".350"
  %".357" = sub i64 %".296", %".349"
  %".358" = getelementptr i8, ptr %".345", i64 %".357"
  %".359" = and i1 1, %".318"
  %".360" = and i1 %".359", %".323"
  %".361" = and i1 %".360", %".326"
  %".362" = and i1 %".361", %".329"
  %".363" = and i1 %".362", %".353"
  %".364" = and i1 %".363", %".356"
  br i1 %".364", label %"proven_row.1", label %"checked_row.1"
row_done.1:
  %".490" = load i32, ptr %".268"
  %".491" = add i32 %".490", 1
  store i32 %".491", ptr %".268"
  %".493" = icmp ult i32 %".491", %".54"
  br i1 %".493", label %"tid_y.1", label %"tid_y_done.1"
proven_row.1:
  %".366" = load i32, ptr %".266"
  %".367" = load i32, ptr %".268"
  %".368" = load i32, ptr %".263"
  store i64 0, ptr %".369"
  store i64 0, ptr %".369"
  br label %"thread.2"
checked_row.1:
  %".418" = load i32, ptr %".266"
  %".419" = load i32, ptr %".268"
  %".420" = load i32, ptr %".263"
  store i64 0, ptr %".421"
  store i64 0, ptr %".421"
  br label %"thread.3"
thread.2:
  %".373" = load i64, ptr %".369"
  %".374" = zext i32 %".52" to i64
  %".375" = trunc i64 %".373" to i32
  %".376" = add nuw nsw i32 %".368", %".375"
  store i32 %".375", ptr %".4"
  store i32 %".367", ptr %".5"
  store i32 %".366", ptr %".6"
  store i32 %".44", ptr %".7"
  store i32 %".45", ptr %".8"
  store i32 %".46", ptr %".9"
  %".383" = mul i64 %".373", 4
  %".384" = getelementptr i8, ptr %".332", i64 %".383"
  %".385" = mul i64 %".373", 4
  %".386" = getelementptr i8, ptr %".358", i64 %".385"
  store i32 %".375", ptr %".83"
  %".389" = trunc i64 1024 to i32
  %".390" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".391" = shl i32 %".375", %".390"
  %".392" = icmp ult i32 2, 32
  %".393" = select  i1 %".392", i32 %".391", i32 0
  %".394" = add i32 %".389", %".393"
  store i32 %".394", ptr %".90"
  store i64 %".396", ptr %".141"
  %".398" = load i64, ptr %".13"
  %".399" = add i64 %".398", 6
  store i64 %".399", ptr %".13"
  %".401" = load i32, ptr %".83"
  %".402" = sub i32 31, %".401"
  %".403" = load i32, ptr %".384", align 4
  %".404" = zext i32 %".401" to i64
  %".405" = zext i32 4 to i64
  %".406" = mul i64 %".404", %".405"
  %".407" = load i64, ptr %".141"
  %".408" = add i64 %".407", %".406"
  store i32 %".403", ptr %".386", align 4
  store i32 0, ptr %".59"
  br label %"next_thread.2"
next_thread.2:
  %".412" = add nuw nsw i64 %".373", 1
  store i64 %".412", ptr %".369"
  %".414" = add nuw nsw i32 %".376", 1
  store i32 %".414", ptr %".263"
  %".416" = icmp ult i64 %".412", %".374"
  br i1 %".416", label %"thread.2", label %"row_done.1"
before:
  unreachable
thread.3:
  %".425" = load i64, ptr %".421"
  %".426" = zext i32 %".52" to i64
  %".427" = trunc i64 %".425" to i32
  %".428" = add nuw nsw i32 %".420", %".427"
  store i32 %".427", ptr %".4"
  store i32 %".419", ptr %".5"
  store i32 %".418", ptr %".6"
  store i32 %".44", ptr %".7"
  store i32 %".45", ptr %".8"
  store i32 %".46", ptr %".9"
  store i32 %".427", ptr %".83"
  %".437" = trunc i64 1024 to i32
  %".438" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".439" = shl i32 %".427", %".438"
  %".440" = icmp ult i32 2, 32
  %".441" = select  i1 %".440", i32 %".439", i32 0
  %".442" = add i32 %".437", %".441"
  store i32 %".442", ptr %".90"
  store i64 %".444", ptr %".141"
  %".446" = load i64, ptr %".13"
  %".447" = add i64 %".446", 6
  store i64 %".447", ptr %".13"
  %".449" = load i32, ptr %".83"
  %".450" = sub i32 31, %".449"
  %".451" = load i32, ptr %".90"
  %".452" = sub i32 %".451", 1024
  %".453" = call i32 @"llvm.fshr.i32"(i32 %".452", i32 %".452", i32 2)
  %".454" = icmp ult i32 %".453", 32
  br i1 %".454", label %"fast.1", label %"slow.1", !prof !3
next_thread.3:
  %".484" = add nuw nsw i64 %".425", 1
  store i64 %".484", ptr %".421"
  %".486" = add nuw nsw i32 %".428", 1
  store i32 %".486", ptr %".263"
  %".488" = icmp ult i64 %".484", %".426"
  br i1 %".488", label %"thread.3", label %"row_done.1"
before.1:
  unreachable
fast.1:
  %".456" = zext i32 %".452" to i64
  %".457" = getelementptr i8, ptr %".108", i64 %".456"
  br label %"after.1"
slow.1:
  %".459" = zext i32 %".451" to i64
  %".460" = add i64 %".459", 3565187343784607744
  %".461" = call ptr @"resolve_shared"(ptr %".1", ptr %".11", i64 %".460", i64 4, i64 1)
  %".462" = icmp eq ptr %".461", null
  br i1 %".462", label %"fault", label %"after.1", !prof !4
after.1:
  %".464" = phi  ptr [%".457", %"fast.1"], [%".461", %"slow.1"]
  %".465" = load i32, ptr %".464", align 4
  %".466" = zext i32 %".449" to i64
  %".467" = zext i32 4 to i64
  %".468" = mul i64 %".466", %".467"
  %".469" = load i64, ptr %".141"
  %".470" = add i64 %".469", %".468"
  %".471" = sub i64 %".470", %".349"
  %".472" = call i64 @"llvm.fshr.i64"(i64 %".471", i64 %".471", i64 2)
  %".473" = icmp ult i64 %".472", %".350"
  br i1 %".473", label %"fast.2", label %"slow.2", !prof !3
fast.2:
  %".475" = getelementptr i8, ptr %".345", i64 %".471"
  br label %"after.2"
slow.2:
  %".477" = call ptr @"resolve_global"(ptr %".1", ptr %".11", i64 %".470", i64 4, i64 2)
  %".478" = icmp eq ptr %".477", null
  br i1 %".478", label %"fault", label %"after.2", !prof !4
after.2:
  %".480" = phi  ptr [%".475", %"fast.2"], [%".477", %"slow.2"]
  store i32 %".465", ptr %".480", align 4
  store i32 0, ptr %".59"
  br label %"next_thread.3"
tid_y_done.1:
  %".495" = load i32, ptr %".266"
  %".496" = add i32 %".495", 1
  store i32 %".496", ptr %".266"
  %".498" = icmp ult i32 %".496", %".56"
  br i1 %".498", label %"tid_z.1", label %"tid_z_done.1"
tid_z_done.1:
  br label %"next_block"
next_block.if:
  store i32 0, ptr %".30"
  %".510" = load i32, ptr %".33"
  %".511" = add i32 %".510", 1
  store i32 %".511", ptr %".33"
  %".513" = icmp eq i32 %".511", %".23"
  br i1 %".513", label %"next_block.if.if", label %"next_block.if.endif"
next_block.endif:
  br label %"block"
next_block.if.if:
  store i32 0, ptr %".33"
  %".516" = load i32, ptr %".36"
  %".517" = add i32 %".516", 1
  store i32 %".517", ptr %".36"
  br label %"next_block.if.endif"
next_block.if.endif:
  br label %"next_block.endif"
}
