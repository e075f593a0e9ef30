import { type Sql, sql } from './sql.js'

/** Whose bills are wanted, and the zone of their days. */
export interface BillsOf {
  readonly clientId: string
  readonly timeZone: string
}

const ownTenancies = (clientId: string) =>
  sql`tenancy FINAL WHERE arrayExists(h -> has(h.5, ${clientId}), holds)`

/** The accounts of a client's bills, in whose order they are stored. */
export function ownAccounts({ clientId }: Pick<BillsOf, 'clientId'>): Sql {
  return sql`(SELECT account_number FROM ${ownTenancies(clientId)})`
}

/**
 * The current bills of a client: rows of `projected_bill`. A bill has the days that its tenancy had when it
 * was computed. If a move became known since, some of them are another tenant's: it is left out until
 * it is computed again.
 */
export function ownBills({ clientId, timeZone }: BillsOf): Sql {
  const day = (at: Sql) => sql`toDate(${at}, ${timeZone})`
  return sql`SELECT b.* FROM projected_bill AS b
      INNER JOIN (SELECT meter_id, external_site_id, account_number, client_id, valid_from, valid_to, holds FROM ${ownTenancies(clientId)}) AS t
        ON t.meter_id = b.meter_id AND t.external_site_id = b.external_site_id
          AND t.account_number = b.account_number AND t.client_id = if(b.account_number = '', ${clientId}, '')
      WHERE b.account_number IN ${ownAccounts({ clientId })} AND has(b.client_ids, ${clientId})
        AND (t.valid_from IS NULL OR ${day(sql`assumeNotNull(t.valid_from)`)} <= b.start_date)
        AND (t.valid_to IS NULL OR ${day(sql`assumeNotNull(t.valid_to) - 1`)} >= b.last_date)
        AND arrayAll(h -> empty(h.5) OR has(h.5, ${clientId}) OR ${day(sql`h.2`)} > b.last_date
          OR ${day(sql`h.3 - 1`)} < b.start_date, t.holds)`
}
