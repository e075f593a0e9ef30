import type { Statement } from '../../store/clickhouse.js'
import { id, type Sql, sql, typed } from '../../store/sql.js'
import { type Decision, derivedOf, onceSettings } from '../../store/staging.js'

/**
 * Lists days of meters on which a file moves reads to another account or premise, or under another length:
 * who had pulled such a read does not see it again. Readers see the list with the number of the file. The clients are
 * those of the moment; a change of theirs is listed by itself.
 */
export function recordMoves(state: Decision & { readonly attaches: string }): Statement {
  const { arrival, attaches } = state
  const overlaps = id(derivedOf(state).overlaps)
  const moved = sql`SELECT o.meter_id AS meter_id, o.local_day AS local_day, o.starts_at AS starts_at,
      o.old_account_number AS old_account, o.old_external_site_id AS old_site,
      n.account_number AS new_account, n.external_site_id AS new_site
    FROM ${overlaps} AS o INNER JOIN ${id(attaches)} AS n ON n.version = o.new_version
    WHERE o.kind IN ('restated', 'rewritten') AND (old_account != new_account OR old_site != new_site)
    UNION ALL SELECT meter_id, arrayJoin([local_day, new_day]), starts_at, old_account_number, old_external_site_id,
      old_account_number, old_external_site_id FROM ${overlaps} WHERE kind IN ('rekeyed', 'outdone')
    UNION ALL SELECT meter_id, local_day, starts_at, old_account_number, old_external_site_id, '', ''
      FROM ${overlaps} WHERE kind = 'ended'`
  return listDays(state, { moved, token: `moved-${arrival}` })
}

/**
 * Lists the days of meters whose missing reads a file brings back, for the same reason: the reads have the
 * numbers that they had.
 */
export function recordReturned(state: Decision & { readonly attaches: string }): Statement {
  const moved = sql`SELECT meter_id, local_day, starts_at, account_number AS old_account, external_site_id AS old_site,
      old_account AS new_account, old_site AS new_site
    FROM ${id(state.attaches)}`
  return listDays(state, { moved, token: `returned-${state.arrival}` })
}

function listDays(
  { arrival }: Decision,
  { moved, token }: { readonly moved: Sql; readonly token: string },
): Statement {
  const ownerOf = (account: Sql, site: Sql) => sql`arrayFirst(h -> h.1 = ${site}
      AND (h.2 = ${account} OR (h.2 = '\\0' AND ${account} NOT IN (SELECT account_number FROM tenancy)))
      AND h.3 <= m.starts_at AND m.starts_at < h.4, t.held).5`
  return {
    sql: sql`INSERT INTO usage_change_row
        (meter_id, local_day, last_local_day, client_ids_before, client_ids_after, cause, change)
      SELECT m.meter_id, m.local_day, m.local_day, ${ownerOf(sql`m.old_account`, sql`m.old_site`)} AS before,
        ${ownerOf(sql`m.new_account`, sql`m.new_site`)} AS after, 'read', ${typed('UInt64', arrival)}
      FROM (${moved}) AS m
      LEFT JOIN (
        SELECT meter_id, groupArray((external_site_id, hold.1, hold.2, hold.3, hold.4)) AS held
        FROM tenancy FINAL ARRAY JOIN holds AS hold
        WHERE meter_id IN (SELECT meter_id FROM (${moved})) GROUP BY meter_id
      ) AS t ON t.meter_id = m.meter_id
      GROUP BY m.meter_id, m.local_day, before, after`,
    settings: onceSettings(token),
  }
}
