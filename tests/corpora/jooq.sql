-- kind: selectCount
select count(*) from "public"."visits"

-- kind: fetchCount
select count(*) from (select "public"."visits"."region" from "public"."visits" where "public"."visits"."age" > 30) as "q"

-- kind: group by
select "public"."visits"."region", count(*) as "n", avg("public"."visits"."income") as "mean" from "public"."visits" group by "public"."visits"."region" order by "n" desc

-- kind: casts of constants
select count(*) from "public"."visits" where ("public"."visits"."day" >= date '2024-03-01' and "public"."visits"."day" < cast('2024-04-01' as date))

-- kind: fetch next
select "v"."region", count(*) from "public"."visits" as "v" group by "v"."region" order by count(*) desc fetch next 3 rows only

-- kind: offset and fetch
select "v"."region", count(*) as "n" from "public"."visits" as "v" group by "v"."region" order by "n" desc offset 1 rows fetch next 2 rows only

-- kind: filter where
select count(*) filter (where "v"."smoker") as "smokers", avg("v"."age") filter (where "v"."region" = 'north') as "age" from "public"."visits" as "v"

-- kind: nullif and coalesce
select coalesce((sum("v"."income") / nullif(count("v"."income"), 0)), 0) as "mean" from "public"."visits" as "v"

-- kind: decode by case
select case "v"."region" when 'north' then 'up' when 'south' then 'down' else 'side' end as "side", count(*) from "public"."visits" as "v" group by case "v"."region" when 'north' then 'up' when 'south' then 'down' else 'side' end

-- kind: ratio to report
select "v"."region", count(*) as "n", (cast(count(*) as decimal) / sum(count(*)) over ()) as "share" from "public"."visits" as "v" group by "v"."region"

-- kind: dense_rank
select "v"."region", dense_rank() over (order by count(*) desc) as "place" from "public"."visits" as "v" group by "v"."region"

-- kind: running sum
select "t"."m", sum("t"."n") over (order by "t"."m" rows between unbounded preceding and current row) as "total" from (select date_trunc('month', "v"."day") as "m", count(*) as "n" from "public"."visits" as "v" group by date_trunc('month', "v"."day")) as "t" order by "t"."m"

-- kind: lag by named window
select "t"."y", "t"."n" - lag("t"."n") over "w" as "growth" from (select extract(year from "v"."day") as "y", count(*) as "n" from "public"."visits" as "v" group by extract(year from "v"."day")) as "t" window "w" as (order by "t"."y")

-- kind: with
with "a"("region", "n") as (select "v"."region", count(*) from "public"."visits" as "v" group by "v"."region") select "a"."region", "a"."n" from "a" where "a"."n" > 10

-- kind: rollup
select "v"."region", "v"."home", grouping("v"."region") as "g", count(*) from "public"."visits" as "v" group by rollup ("v"."region", "v"."home")

-- kind: grouping sets
select "v"."region", "v"."smoker", sum("v"."income") from "public"."visits" as "v" group by grouping sets (("v"."region"), ("v"."smoker"), ())

-- kind: cube
select "s"."ward", "c"."title", count(*) from "public"."stays" as "s" join "public"."codes" as "c" on "s"."code" = "c"."code" group by cube ("s"."ward", "c"."title")

-- kind: join using
select avg("nights") from "public"."visits" join "public"."stays" using ("patient_id") where "region" = 'north'

-- kind: left join
select count("b"."payer") from "public"."visits" as "v" left outer join "public"."bills" as "b" on "v"."patient_id" = "b"."payer"

-- kind: semi join
select count(*) from "public"."visits" where exists (select 1 as "one" from "public"."stays" where "public"."visits"."patient_id" = "public"."stays"."patient_id")

-- kind: anti join
select count(*) from "public"."visits" where not exists (select 1 as "one" from "public"."bills" where "public"."visits"."patient_id" = "public"."bills"."payer")

-- kind: in a subquery of a public table
select count(*) from "public"."stays" where "public"."stays"."code" in (select "public"."codes"."code" from "public"."codes" where "public"."codes"."title" = 'flu')

-- kind: intersect
select "v"."region" from "public"."visits" as "v" group by "v"."region" having count(*) > 10 intersect select "w"."home" from "public"."visits" as "w" group by "w"."home" having count(*) > 10

-- kind: values
select "k"."region", count("v"."age") from (values ('north'), ('south')) as "k" ("region") left outer join "public"."visits" as "v" on "v"."region" = "k"."region" group by "k"."region"

-- kind: first row of each person
select avg("t"."age") from (select "v"."patient_id", "v"."age", row_number() over (partition by "v"."patient_id" order by "v"."day") as "rn" from "public"."visits" as "v") as "t" where "t"."rn" = 1

-- kind: median
select percentile_cont(0.5) within group (order by "v"."income") from "public"."visits" as "v"

-- kind: arithmetic of dates
select count(*) from "public"."visits" as "v" where "v"."day" > (current_date - 30)

-- kind: limit by a rank over rows
-- forbidden: order of different people's rows
select "t"."income" from (select "v"."income", rank() over (order by "v"."income" desc) as "r" from "public"."visits" as "v") as "t" where "t"."r" <= 10

-- kind: fetch of records
-- forbidden: rows of people
select "public"."stays"."ward", "public"."stays"."nights" from "public"."stays" where "public"."stays"."nights" > 30

-- kind: for update
-- forbidden: rows of people, locked
select "public"."visits"."patient_id" from "public"."visits" where "public"."visits"."age" = 50 for update

-- kind: merge
-- forbidden: a write
merge into "public"."codes" using (select 7 as "code", 'flu' as "title") as "n" on "public"."codes"."code" = "n"."code" when matched then update set "title" = "n"."title"
