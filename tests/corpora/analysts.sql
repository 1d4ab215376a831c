-- kind: count
select count(*) from visits;

-- kind: by month
select date_trunc('month', day)::date as month, count(*) from visits group by 1 order by 1;

-- kind: share of the total by a subquery
select region, round(100.0 * count(*) / (select count(*) from visits), 1) as percent from visits group by region order by percent desc;

-- kind: share of the total by a window
select region, count(*) as n, round(100.0 * count(*) / sum(count(*)) over (), 1) as percent from visits group by region;

-- kind: share of the total by a CTE
with n as (select region, count(*) as c from visits group by region), total as (select sum(c) as t from n)
select region, c, c * 1.0 / t as share from n cross join total order by share desc;

-- kind: top n
select city, count(*) as n from events group by city order by n desc limit 10;

-- kind: top n in each group
with n as (select region, home, count(*) as c from visits group by region, home),
ranked as (select *, row_number() over (partition by region order by c desc) as place from n)
select region, home, c from ranked where place <= 2 order by region, place;

-- kind: top n and the rest
with n as (select city, count(*) as c from events group by city),
ranked as (select city, c, rank() over (order by c desc) as place from n)
select case when place <= 3 then city else 'other' end as city, sum(c) as c from ranked group by 1 order by 2 desc;

-- kind: running total
select month, n, sum(n) over (order by month) as total
from (select date_trunc('month', day) as month, count(*) as n from visits group by 1) m order by month;

-- kind: moving average
with d as (select day, count(*) as n from visits where day < '2024-04-01' group by day)
select day, avg(n) over (order by day rows between 6 preceding and current row) as week_mean from d order by day;

-- kind: month over month
with m as (select date_trunc('month', day) as month, sum(income) as total from visits group by 1)
select month, total, total - lag(total) over (order by month) as change,
       round(100.0 * (total - lag(total) over (order by month)) / nullif(lag(total) over (order by month), 0), 2) as percent
from m order by month;

-- kind: year over year by LAG
with m as (select extract(year from day) as y, extract(month from day) as m, count(*) as n from visits group by 1, 2)
select y, m, n, lag(n) over (partition by m order by y) as last_year from m order by y, m;

-- kind: year over year by a join
with m as (select year(day) as y, month(day) as m, count(*) as n from visits group by 1, 2)
select a.m, a.n as now, b.n as before, a.n * 1.0 / b.n - 1 as growth
from m a join m b on a.m = b.m and a.y = b.y + 1 order by a.m;

-- kind: pivot by CASE
select date_trunc('quarter', day) as quarter,
  sum(case when region = 'north' then 1 else 0 end) as north,
  sum(case when region = 'south' then 1 else 0 end) as south,
  sum(case when region = 'east' then 1 else 0 end) as east
from visits group by 1 order by 1;

-- kind: pivot of sums
select smoker, sum(income) filter (where region = 'north') as north, sum(income) filter (where region = 'south') as south
from visits group by smoker;

-- kind: first event of each person
select date_trunc('month', first_day) as month, count(*) as new_patients
from (select patient_id, min(day) as first_day from visits group by patient_id) f group by 1 order by 1;

-- kind: first event by ROW_NUMBER
with ordered as (select patient_id, region, day, row_number() over (partition by patient_id order by day) as rn from visits)
select region, count(*) as first_visits from ordered where rn = 1 group by region;

-- kind: first event by DISTINCT ON
select region, count(*) from (select distinct on (patient_id) patient_id, region from visits order by patient_id, day) f group by region;

-- kind: cohorts
with first as (select patient_id, date_trunc('month', min(day)) as cohort from visits group by patient_id)
select f.cohort, date_trunc('month', v.day) as month, count(distinct v.patient_id) as people
from visits v join first f on v.patient_id = f.patient_id
group by 1, 2 order by 1, 2;

-- kind: retention
with first as (select patient_id, min(day) as day0 from visits group by patient_id)
select count(distinct v.patient_id) * 1.0 / (select count(*) from first) as retained
from visits v join first f using (patient_id)
where v.day between f.day0 + interval '1 day' and f.day0 + interval '30 days';

-- kind: retention by month numbers
with first as (select patient_id, min(day) as day0 from visits group by patient_id),
act as (select v.patient_id, (year(v.day) - year(f.day0)) * 12 + month(v.day) - month(f.day0) as k from visits v join first f on f.patient_id = v.patient_id)
select k, count(distinct patient_id) as people from act group by k order by k;

-- kind: gap between the events of each person
select avg(gap) from (
  select patient_id, day - lag(day) over (partition by patient_id order by day) as gap from visits
) g where gap is not null;

-- kind: returned within 30 days
select avg(case when next_day - day <= 30 then 1.0 else 0 end) as returned
from (select patient_id, day, lead(day) over (partition by patient_id order by day) as next_day from visits) v;

-- kind: histogram of events of people
select n, count(*) as people from (select patient_id, count(*) as n from visits group by patient_id) c group by n order by n;

-- kind: people with at least three
select count(*) from (select patient_id from visits group by patient_id having count(*) >= 3) r;

-- kind: people in both
select count(distinct patient_id) from visits where patient_id in (select patient_id from stays);

-- kind: people in one, not in the other
select count(distinct v.patient_id) from visits v left join stays s on s.patient_id = v.patient_id where s.patient_id is null;

-- kind: funnel
with v as (select distinct patient_id from visits), s as (select distinct patient_id from stays), b as (select distinct payer from bills)
select (select count(*) from v) as visited, (select count(*) from v join s using (patient_id)) as stayed,
       (select count(*) from v join s using (patient_id) join b on b.payer = v.patient_id) as paid;

-- kind: lookup and HAVING
select c.title, avg(s.nights) as nights, count(*) as n
from stays s join codes c on s.code = c.code where c.title in ('flu', 'cold') group by c.title having count(*) > 20;

-- kind: above the mean
select count(*) from visits where income > (select avg(income) from visits);

-- kind: above twice the median
with m as (select percentile_cont(0.5) within group (order by income) as median from visits)
select count(*) from visits, m where income > 2 * m.median;

-- kind: subtotals
select coalesce(region, 'all') as region, count(*) from visits group by rollup (region) order by 1;

-- kind: total row by a union
select region, count(*) as n from visits group by region
union all
select 'total', count(*) from visits
order by n desc;

-- kind: bands in text
select (age / 10) * 10 || '-' || (age / 10) * 10 + 9 as band, count(*) from visits group by 1 order by 1;

-- kind: names of months
select to_char(day, 'YYYY-MM') as month, to_char(count(*), '999,999') as n from visits group by 1 order by 1;

-- kind: names of weekdays
select case extract(dow from day) when 0 then 'Sun' when 6 then 'Sat' else 'weekday' end as d, count(*) from visits group by 1;

-- kind: labels over the result
select region, case when avg(income) > 50000 then 'rich' else 'poor' end as label, upper(region) as name from visits group by region;

-- kind: weighted mean
select sum(nights * age) / nullif(sum(nights), 0) as weighted from stays;

-- kind: deciles
select unnest(array[0.1, 0.5, 0.9]) as p, percentile_cont(array[0.1, 0.5, 0.9]) within group (order by age) from visits;

-- kind: months without gaps
select m.month, coalesce(v.n, 0) from (select generate_series('2024-01-01'::date, '2024-12-01', '1 month') as month) m
left join (select date_trunc('month', day) as month, count(*) as n from visits group by 1) v using (month) order by 1;

-- kind: difference of two groups
select (select avg(income) from visits where smoker) - (select avg(income) from visits where not smoker) as difference;

-- kind: look at a few rows
-- forbidden: rows of people, with their units
select * from visits limit 5;

-- kind: who came most
-- forbidden: units
select patient_id, count(*) as n from visits group by patient_id order by n desc limit 10;

-- kind: who came twice on a day
-- forbidden: units
select patient_id, day, count(*) from visits group by 1, 2 having count(*) > 1;

-- kind: rank in the table
-- forbidden: order of different people's rows
select avg(age) from (select age, percent_rank() over (order by income) as p from visits) r where p > 0.99;

-- kind: people of the same day
-- forbidden: pairs of different people
select count(*) from visits a join visits b on a.day = b.day where a.patient_id <> b.patient_id;

-- kind: export
-- forbidden: a write to a file
copy (select * from visits) to 'visits.csv' with csv header;

-- kind: clean
-- forbidden: a write
delete from visits where age is null;
