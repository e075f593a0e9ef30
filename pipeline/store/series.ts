import { literal, type Sql, sql } from './sql.js'

/** What `usage_read.series` holds of the reads of a meter that were sent for an account at a premise. */
export const seriesNumber = (meter: Sql, account: Sql, site: Sql) =>
  sql`bitOr(${upperHalf(sql`cityHash64(${meter})`)}, bitAnd(cityHash64(${meter}, ${account}, ${site}, seconds), ${literal(2n ** 32n - 1n)}))`

/** The part of a series by which those of one meter are found. */
export const upperHalf = (series: Sql) => sql`bitAnd(${series}, ${literal(2n ** 64n - 2n ** 32n)})`
