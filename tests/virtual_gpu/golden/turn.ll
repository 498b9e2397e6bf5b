define internal i32 @"kernel_0.body"(ptr %".1") noinline nounwind
{
slots:
  %".439" = alloca i64
  %".387" = alloca i64
  %".286" = alloca i32
  %".284" = alloca i32
  %".281" = alloca i32
  %".191" = alloca i64
  %".159" = alloca i64
  %".143" = alloca i64
  %".108" = alloca i32
  %".101" = alloca i32
  %".85" = alloca i32
  %".83" = alloca i32
  %".80" = alloca i32
  %".77" = alloca i32
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
  %".65" = getelementptr i8, ptr %".1", i64 48
  %".66" = load ptr, ptr %".65", align 8
  %".69" = getelementptr i8, ptr %".1", i64 112
  %".70" = load i32, ptr %".69", align 8, !range !2
  %".71" = getelementptr i8, ptr %".1", i64 120
  %".72" = load i32, ptr %".71", align 8, !range !2
  %".73" = getelementptr i8, ptr %".1", i64 128
  %".74" = load i32, ptr %".73", align 8, !range !2
  %".75" = mul i32 %".72", %".74"
  %".76" = mul i32 %".70", %".75"
  %".126" = getelementptr i8, ptr %".66", i64 1024
  %".167" = load ptr, ptr %".1", align 8
  %".168" = load i64, ptr %".167", align 8
  %".212" = load i64, ptr %".167", align 8
  %".309" = load i64, ptr %".167", align 8
  %".329" = load i64, ptr %".167", align 8
  %".351" = load i64, ptr %".167", align 1
  %".352" = getelementptr i8, ptr %".1", i64 16
  %".353" = load ptr, ptr %".352", align 8
  %".354" = getelementptr i8, ptr %".1", i64 24
  %".355" = load i64, ptr %".354", align 8
  %".356" = lshr i64 %".351", 40
  %".357" = mul i64 %".356", 2557247
  %".358" = and i64 %".357", 4194303
  %".359" = icmp ult i64 %".358", %".355"
  %".360" = select  i1 %".359", i64 %".358", i64 0
  %".361" = shl i64 %".360", 5
  %".362" = getelementptr i8, ptr %".353", i64 %".361"
  %".363" = load ptr, ptr %".362"
  %".364" = getelementptr i8, ptr %".362", i64 8
  %".365" = load i64, ptr %".364"
  %".366" = getelementptr i8, ptr %".362", i64 16
  %".367" = load i64, ptr %".366"
  %".368" = lshr i64 %".365", 2
  %".414" = load i64, ptr %".167", align 8
  %".462" = load i64, ptr %".167", align 8
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
  %".540" = getelementptr i8, ptr %".1", i64 248
  %".541" = load i64, ptr %".540", align 8
  %".542" = load i64, ptr %".13"
  %".543" = add i64 %".541", %".542"
  %".544" = getelementptr i8, ptr %".1", i64 248
  store i64 %".543", ptr %".544", align 8
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
  %".67" = getelementptr i8, ptr %".66", i64 1024
  call void @"llvm.memset.p0.i64"(ptr %".67", i8 255, i64 128, i1 0)
  store i32 0, ptr %".77"
  br label %"region1"
next_block:
  %".519" = load i64, ptr %".17"
  %".520" = add i64 %".519", 1
  store i64 %".520", ptr %".17"
  %".522" = load i32, ptr %".30"
  %".523" = add i32 %".522", 1
  store i32 %".523", ptr %".30"
  %".525" = icmp eq i32 %".523", %".20"
  br i1 %".525", label %"next_block.if", label %"next_block.endif"
region1:
  store i32 0, ptr %".80"
  store i32 0, ptr %".80"
  store i32 0, ptr %".83"
  store i32 0, ptr %".85"
  store i32 0, ptr %".83"
  br label %"tid_z"
tid_z:
  store i32 0, ptr %".85"
  br label %"tid_y"
tid_y:
  %".91" = load i32, ptr %".83"
  %".92" = load i32, ptr %".85"
  %".93" = sub i32 %".70", 1
  store i32 0, ptr %".4"
  store i32 %".92", ptr %".5"
  store i32 %".91", ptr %".6"
  store i32 %".44", ptr %".7"
  store i32 %".45", ptr %".8"
  store i32 %".46", ptr %".9"
  %".100" = trunc i64 1024 to i32
  store i32 0, ptr %".101"
  %".103" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".104" = shl i32 0, %".103"
  %".105" = icmp ult i32 2, 32
  %".106" = select  i1 %".105", i32 %".104", i32 0
  %".107" = add i32 %".100", %".106"
  store i32 %".107", ptr %".108"
  store i32 %".93", ptr %".4"
  store i32 %".92", ptr %".5"
  store i32 %".91", ptr %".6"
  store i32 %".44", ptr %".7"
  store i32 %".45", ptr %".8"
  store i32 %".46", ptr %".9"
  %".116" = trunc i64 1024 to i32
  store i32 %".93", ptr %".101"
  %".118" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".119" = shl i32 %".93", %".118"
  %".120" = icmp ult i32 2, 32
  %".121" = select  i1 %".120", i32 %".119", i32 0
  %".122" = add i32 %".116", %".121"
  store i32 %".122", ptr %".108"
  %".124" = zext i32 %".93" to i64
  %".125" = icmp uge i32 %".70", 16
  %".127" = sub i32 %".107", 1024
  %".128" = call i32 @"llvm.fshr.i32"(i32 %".127", i32 %".127", i32 2)
  %".129" = icmp ult i32 %".128", 32
  %".130" = sub i32 %".122", 1024
  %".131" = call i32 @"llvm.fshr.i32"(i32 %".130", i32 %".130", i32 2)
  %".132" = icmp ult i32 %".131", 32
  %".133" = sub i32 %".107", 1024
  %".134" = zext i32 %".133" to i64
  %".135" = getelementptr i8, ptr %".126", i64 %".134"
  %".136" = and i1 1, %".125"
  %".137" = and i1 %".136", %".129"
  %".138" = and i1 %".137", %".132"
  br i1 %".138", label %"proven_row", label %"checked_row"
row_done:
  %".270" = load i32, ptr %".85"
  %".271" = add i32 %".270", 1
  store i32 %".271", ptr %".85"
  %".273" = icmp ult i32 %".271", %".72"
  br i1 %".273", label %"tid_y", label %"tid_y_done"
proven_row:
  %".140" = load i32, ptr %".83"
  %".141" = load i32, ptr %".85"
  %".142" = load i32, ptr %".80"
  store i64 0, ptr %".143"
  store i64 0, ptr %".143"
  br label %"thread"
checked_row:
  %".188" = load i32, ptr %".83"
  %".189" = load i32, ptr %".85"
  %".190" = load i32, ptr %".80"
  store i64 0, ptr %".191"
  store i64 0, ptr %".191"
  br label %"thread.1"
thread:
  %".147" = load i64, ptr %".143"
  %".148" = zext i32 %".70" to i64
  %".149" = trunc i64 %".147" to i32
  %".150" = add nuw nsw i32 %".142", %".149"
  store i32 %".149", ptr %".4"
  store i32 %".141", ptr %".5"
  store i32 %".140", ptr %".6"
  store i32 %".44", ptr %".7"
  store i32 %".45", ptr %".8"
  store i32 %".46", ptr %".9"
  %".157" = mul i64 %".147", 4
  %".158" = getelementptr i8, ptr %".135", i64 %".157"
  store i32 0, ptr %".101"
  store i32 0, ptr %".108"
  store i64 0, ptr %".159"
  br label %"b0"
next_thread:
  %".182" = add nuw nsw i64 %".147", 1
  store i64 %".182", ptr %".143"
  %".184" = add nuw nsw i32 %".150", 1
  store i32 %".184", ptr %".80"
  %".186" = icmp ult i64 %".182", %".148"
  br i1 %".186", label %"thread", label %"row_done"
b0:
  %".164" = load i64, ptr %".13"
  %".165" = add i64 %".164", 7
  store i64 %".165", ptr %".13"
  store i64 %".168", ptr %".159"
  store i32 %".149", ptr %".101"
  %".171" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".172" = shl i32 %".149", %".171"
  %".173" = icmp ult i32 2, 32
  %".174" = select  i1 %".173", i32 %".172", i32 0
  %".175" = trunc i64 1024 to i32
  %".176" = add i32 %".175", %".174"
  store i32 %".176", ptr %".108"
  store i32 %".149", ptr %".158", align 4
  store i32 2, ptr %".77"
  br label %"next_thread"
region2:
  store i32 0, ptr %".281"
  store i32 0, ptr %".281"
  store i32 0, ptr %".284"
  store i32 0, ptr %".286"
  store i32 0, ptr %".284"
  br label %"tid_z.1"
never:
  unreachable
thread.1:
  %".195" = load i64, ptr %".191"
  %".196" = zext i32 %".70" to i64
  %".197" = trunc i64 %".195" to i32
  %".198" = add nuw nsw i32 %".190", %".197"
  store i32 %".197", ptr %".4"
  store i32 %".189", ptr %".5"
  store i32 %".188", ptr %".6"
  store i32 %".44", ptr %".7"
  store i32 %".45", ptr %".8"
  store i32 %".46", ptr %".9"
  store i32 0, ptr %".101"
  store i32 0, ptr %".108"
  store i64 0, ptr %".159"
  br label %"b0.1"
next_thread.1:
  %".264" = add nuw nsw i64 %".195", 1
  store i64 %".264", ptr %".191"
  %".266" = add nuw nsw i32 %".198", 1
  store i32 %".266", ptr %".80"
  %".268" = icmp ult i64 %".264", %".196"
  br i1 %".268", label %"thread.1", label %"row_done"
b0.1:
  %".209" = load i64, ptr %".13"
  %".210" = add i64 %".209", 7
  store i64 %".210", ptr %".13"
  store i64 %".212", ptr %".159"
  store i32 %".197", ptr %".101"
  %".215" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".216" = shl i32 %".197", %".215"
  %".217" = icmp ult i32 2, 32
  %".218" = select  i1 %".217", i32 %".216", i32 0
  %".219" = trunc i64 1024 to i32
  %".220" = add i32 %".219", %".218"
  store i32 %".220", ptr %".108"
  %".222" = sub i32 %".220", 1024
  %".223" = call i32 @"llvm.fshr.i32"(i32 %".222", i32 %".222", i32 2)
  %".224" = icmp ult i32 %".223", 32
  br i1 %".224", label %"fast", label %"slow", !prof !3
fast:
  %".226" = zext i32 %".222" to i64
  %".227" = getelementptr i8, ptr %".126", i64 %".226"
  br label %"after"
slow:
  %".229" = zext i32 %".220" to i64
  %".230" = add i64 %".229", 3565187343784607744
  %".231" = call ptr @"resolve_shared"(ptr %".1", ptr %".11", i64 %".230", i64 4, i64 0)
  %".232" = icmp eq ptr %".231", null
  br i1 %".232", label %"fault", label %"after", !prof !4
after:
  %".259" = phi  ptr [%".227", %"fast"], [%".231", %"slow"]
  store i32 %".197", ptr %".259", align 4
  store i32 2, ptr %".77"
  br label %"next_thread.1"
fault:
  %".233" = load i32, ptr %".4"
  %".234" = zext i32 %".233" to i64
  %".235" = getelementptr i8, ptr %".1", i64 192
  store i64 %".234", ptr %".235", align 8
  %".237" = load i32, ptr %".5"
  %".238" = zext i32 %".237" to i64
  %".239" = getelementptr i8, ptr %".1", i64 200
  store i64 %".238", ptr %".239", align 8
  %".241" = load i32, ptr %".6"
  %".242" = zext i32 %".241" to i64
  %".243" = getelementptr i8, ptr %".1", i64 208
  store i64 %".242", ptr %".243", align 8
  %".245" = load i32, ptr %".7"
  %".246" = zext i32 %".245" to i64
  %".247" = getelementptr i8, ptr %".1", i64 216
  store i64 %".246", ptr %".247", align 8
  %".249" = load i32, ptr %".8"
  %".250" = zext i32 %".249" to i64
  %".251" = getelementptr i8, ptr %".1", i64 224
  store i64 %".250", ptr %".251", align 8
  %".253" = load i32, ptr %".9"
  %".254" = zext i32 %".253" to i64
  %".255" = getelementptr i8, ptr %".1", i64 232
  store i64 %".254", ptr %".255", align 8
  ret i32 1
never.1:
  unreachable
tid_y_done:
  %".275" = load i32, ptr %".83"
  %".276" = add i32 %".275", 1
  store i32 %".276", ptr %".83"
  %".278" = icmp ult i32 %".276", %".74"
  br i1 %".278", label %"tid_z", label %"tid_z_done"
tid_z_done:
  br label %"region2"
tid_z.1:
  store i32 0, ptr %".286"
  br label %"tid_y.1"
tid_y.1:
  %".292" = load i32, ptr %".284"
  %".293" = load i32, ptr %".286"
  %".294" = sub i32 %".70", 1
  store i32 0, ptr %".4"
  store i32 %".293", ptr %".5"
  store i32 %".292", ptr %".6"
  store i32 %".44", ptr %".7"
  store i32 %".45", ptr %".8"
  store i32 %".46", ptr %".9"
  store i32 0, ptr %".101"
  %".302" = trunc i64 1024 to i32
  %".303" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".304" = shl i32 0, %".303"
  %".305" = icmp ult i32 2, 32
  %".306" = select  i1 %".305", i32 %".304", i32 0
  %".307" = add i32 %".302", %".306"
  store i32 %".307", ptr %".108"
  store i64 %".309", ptr %".159"
  %".311" = zext i32 0 to i64
  %".312" = zext i32 4 to i64
  %".313" = mul i64 %".311", %".312"
  %".314" = add i64 %".309", %".313"
  store i32 %".294", ptr %".4"
  store i32 %".293", ptr %".5"
  store i32 %".292", ptr %".6"
  store i32 %".44", ptr %".7"
  store i32 %".45", ptr %".8"
  store i32 %".46", ptr %".9"
  store i32 %".294", ptr %".101"
  %".322" = trunc i64 1024 to i32
  %".323" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".324" = shl i32 %".294", %".323"
  %".325" = icmp ult i32 2, 32
  %".326" = select  i1 %".325", i32 %".324", i32 0
  %".327" = add i32 %".322", %".326"
  store i32 %".327", ptr %".108"
  store i64 %".329", ptr %".159"
  %".331" = zext i32 %".294" to i64
  %".332" = zext i32 4 to i64
  %".333" = mul i64 %".331", %".332"
  %".334" = add i64 %".329", %".333"
  %".335" = zext i32 %".294" to i64
  %".336" = icmp uge i32 %".70", 16
  %".337" = zext i32 %".294" to i64
  %".338" = zext i32 0 to i64
  %".339" = sub i64 %".337", %".338"
  %".340" = mul i64 %".335", 1
  %".341" = icmp eq i64 %".339", %".340"
  %".342" = sub i32 %".307", 1024
  %".343" = call i32 @"llvm.fshr.i32"(i32 %".342", i32 %".342", i32 2)
  %".344" = icmp ult i32 %".343", 32
  %".345" = sub i32 %".327", 1024
  %".346" = call i32 @"llvm.fshr.i32"(i32 %".345", i32 %".345", i32 2)
  %".347" = icmp ult i32 %".346", 32
  %".348" = sub i32 %".307", 1024
  %".349" = zext i32 %".348" to i64
  %".350" = getelementptr i8, ptr %".126", i64 %".349"
  %".369" = sub i64 %".314", %".367"
  %".370" = call i64 @"llvm.fshr.i64"(i64 %".369", i64 %".369", i64 2)
  %".371" = icmp ult i64 %".370", %".368"
  %".372" = sub i64 %".334", %".367"
  %".373" = call i64 @"llvm.fshr.i64"(i64 %".372", i64 %".372", i64 2)
  %".374" = icmp ult i64 %".373", %".368"
  %".375" = sub i64 %".314", %".367"
  %".376" = getelementptr i8, ptr %".363", i64 %".375"
  %".377" = and i1 1, %".336"
  %".378" = and i1 %".377", %".341"
  %".379" = and i1 %".378", %".344"
  %".380" = and i1 %".379", %".347"
  %".381" = and i1 %".380", %".371"
  %".382" = and i1 %".381", %".374"
  br i1 %".382", label %"proven_row.1", label %"checked_row.1"
row_done.1:
  %".508" = load i32, ptr %".286"
  %".509" = add i32 %".508", 1
  store i32 %".509", ptr %".286"
  %".511" = icmp ult i32 %".509", %".72"
  br i1 %".511", label %"tid_y.1", label %"tid_y_done.1"
proven_row.1:
  %".384" = load i32, ptr %".284"
  %".385" = load i32, ptr %".286"
  %".386" = load i32, ptr %".281"
  store i64 0, ptr %".387"
  store i64 0, ptr %".387"
  br label %"thread.2"
checked_row.1:
  %".436" = load i32, ptr %".284"
  %".437" = load i32, ptr %".286"
  %".438" = load i32, ptr %".281"
  store i64 0, ptr %".439"
  store i64 0, ptr %".439"
  br label %"thread.3"
thread.2:
  %".391" = load i64, ptr %".387"
  %".392" = zext i32 %".70" to i64
  %".393" = trunc i64 %".391" to i32
  %".394" = add nuw nsw i32 %".386", %".393"
  store i32 %".393", ptr %".4"
  store i32 %".385", ptr %".5"
  store i32 %".384", ptr %".6"
  store i32 %".44", ptr %".7"
  store i32 %".45", ptr %".8"
  store i32 %".46", ptr %".9"
  %".401" = mul i64 %".391", 4
  %".402" = getelementptr i8, ptr %".350", i64 %".401"
  %".403" = mul i64 %".391", 4
  %".404" = getelementptr i8, ptr %".376", i64 %".403"
  store i32 %".393", ptr %".101"
  %".407" = trunc i64 1024 to i32
  %".408" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".409" = shl i32 %".393", %".408"
  %".410" = icmp ult i32 2, 32
  %".411" = select  i1 %".410", i32 %".409", i32 0
  %".412" = add i32 %".407", %".411"
  store i32 %".412", ptr %".108"
  store i64 %".414", ptr %".159"
  %".416" = load i64, ptr %".13"
  %".417" = add i64 %".416", 6
  store i64 %".417", ptr %".13"
  %".419" = load i32, ptr %".101"
  %".420" = sub i32 31, %".419"
  %".421" = load i32, ptr %".402", align 4
  %".422" = zext i32 %".419" to i64
  %".423" = zext i32 4 to i64
  %".424" = mul i64 %".422", %".423"
  %".425" = load i64, ptr %".159"
  %".426" = add i64 %".425", %".424"
  store i32 %".421", ptr %".404", align 4
  store i32 0, ptr %".77"
  br label %"next_thread.2"
next_thread.2:
  %".430" = add nuw nsw i64 %".391", 1
  store i64 %".430", ptr %".387"
  %".432" = add nuw nsw i32 %".394", 1
  store i32 %".432", ptr %".281"
  %".434" = icmp ult i64 %".430", %".392"
  br i1 %".434", label %"thread.2", label %"row_done.1"
before:
  unreachable
thread.3:
  %".443" = load i64, ptr %".439"
  %".444" = zext i32 %".70" to i64
  %".445" = trunc i64 %".443" to i32
  %".446" = add nuw nsw i32 %".438", %".445"
  store i32 %".445", ptr %".4"
  store i32 %".437", ptr %".5"
  store i32 %".436", ptr %".6"
  store i32 %".44", ptr %".7"
  store i32 %".45", ptr %".8"
  store i32 %".46", ptr %".9"
  store i32 %".445", ptr %".101"
  %".455" = trunc i64 1024 to i32
  %".456" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".457" = shl i32 %".445", %".456"
  %".458" = icmp ult i32 2, 32
  %".459" = select  i1 %".458", i32 %".457", i32 0
  %".460" = add i32 %".455", %".459"
  store i32 %".460", ptr %".108"
  store i64 %".462", ptr %".159"
  %".464" = load i64, ptr %".13"
  %".465" = add i64 %".464", 6
  store i64 %".465", ptr %".13"
  %".467" = load i32, ptr %".101"
  %".468" = sub i32 31, %".467"
  %".469" = load i32, ptr %".108"
  %".470" = sub i32 %".469", 1024
  %".471" = call i32 @"llvm.fshr.i32"(i32 %".470", i32 %".470", i32 2)
  %".472" = icmp ult i32 %".471", 32
  br i1 %".472", label %"fast.1", label %"slow.1", !prof !3
next_thread.3:
  %".502" = add nuw nsw i64 %".443", 1
  store i64 %".502", ptr %".439"
  %".504" = add nuw nsw i32 %".446", 1
  store i32 %".504", ptr %".281"
  %".506" = icmp ult i64 %".502", %".444"
  br i1 %".506", label %"thread.3", label %"row_done.1"
before.1:
  unreachable
fast.1:
  %".474" = zext i32 %".470" to i64
  %".475" = getelementptr i8, ptr %".126", i64 %".474"
  br label %"after.1"
slow.1:
  %".477" = zext i32 %".469" to i64
  %".478" = add i64 %".477", 3565187343784607744
  %".479" = call ptr @"resolve_shared"(ptr %".1", ptr %".11", i64 %".478", i64 4, i64 1)
  %".480" = icmp eq ptr %".479", null
  br i1 %".480", label %"fault", label %"after.1", !prof !4
after.1:
  %".482" = phi  ptr [%".475", %"fast.1"], [%".479", %"slow.1"]
  %".483" = load i32, ptr %".482", align 4
  %".484" = zext i32 %".467" to i64
  %".485" = zext i32 4 to i64
  %".486" = mul i64 %".484", %".485"
  %".487" = load i64, ptr %".159"
  %".488" = add i64 %".487", %".486"
  %".489" = sub i64 %".488", %".367"
  %".490" = call i64 @"llvm.fshr.i64"(i64 %".489", i64 %".489", i64 2)
  %".491" = icmp ult i64 %".490", %".368"
  br i1 %".491", label %"fast.2", label %"slow.2", !prof !3
fast.2:
  %".493" = getelementptr i8, ptr %".363", i64 %".489"
  br label %"after.2"
slow.2:
  %".495" = call ptr @"resolve_global"(ptr %".1", ptr %".11", i64 %".488", i64 4, i64 2)
  %".496" = icmp eq ptr %".495", null
  br i1 %".496", label %"fault", label %"after.2", !prof !4
after.2:
  %".498" = phi  ptr [%".493", %"fast.2"], [%".495", %"slow.2"]
  store i32 %".483", ptr %".498", align 4
  store i32 0, ptr %".77"
  br label %"next_thread.3"
tid_y_done.1:
  %".513" = load i32, ptr %".284"
  %".514" = add i32 %".513", 1
  store i32 %".514", ptr %".284"
  %".516" = icmp ult i32 %".514", %".74"
  br i1 %".516", label %"tid_z.1", label %"tid_z_done.1"
tid_z_done.1:
  br label %"next_block"
next_block.if:
  store i32 0, ptr %".30"
  %".528" = load i32, ptr %".33"
  %".529" = add i32 %".528", 1
  store i32 %".529", ptr %".33"
  %".531" = icmp eq i32 %".529", %".23"
  br i1 %".531", label %"next_block.if.if", label %"next_block.if.endif"
next_block.endif:
  br label %"block"
next_block.if.if:
  store i32 0, ptr %".33"
  %".534" = load i32, ptr %".36"
  %".535" = add i32 %".534", 1
  store i32 %".535", ptr %".36"
  br label %"next_block.if.endif"
next_block.if.endif:
  br label %"next_block.endif"
}
