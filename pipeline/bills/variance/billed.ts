import type { Statement } from '../../store/clickhouse.js'
import { id, literal, type Sql, sql } from '../../store/sql.js'
import type { RunTables } from '../tables.js'

/** The middle day of a document that was billed: it belongs to the bill whose days it lies in. */
export const documentMiddle = (of: Sql) =>
  sql`${of}.billing_start_date + intDiv(${of}.billing_end_date - ${of}.billing_start_date, 2)`

/** An invoice belongs to a bill that ended so many days before it, where it does not name the bill. */
export const invoiceDaysMax = 31

/**
 * Gathers what was billed: the current documents in whose middle the days of a bill lie, several
 * of them together. Fees are the lines that are neither energy nor delivery; unknown without lines, and
 * counted once where several documents begin on the day that lines name. Only rows of the members' accounts are
 * read: a cycle is a small part of what a utility has billed in years.
 */
export function gatherBilled(tables: RunTables): Statement {
  const ours = sql`account_number IN (SELECT account_number FROM ${id(tables.members)})`
  const documents = sql`SELECT m.run AS run, m.meter_id AS meter_id, m.account_number AS account_number, m.first_day AS first_day,
        min(billing_start_date) AS start_date, max(billing_end_date) AS end_date,
        arraySort(groupArray(document_number)) AS documents, sum(total_consumption) AS billed_quantity,
        if(countIf(cost IS NULL) > 0, NULL, sum(cost)) AS billed_cost,
        if(countIf(tax_amount IS NULL) > 0, NULL, sum(tax_amount)) AS billed_tax,
        if(countIf(fees IS NULL) > 0, NULL, sum(fees)) AS billed_fees
      FROM ${id(tables.members)} AS m
      INNER JOIN (
        SELECT h.meter_id AS meter_id, h.account_number AS account_number, h.billing_start_date AS billing_start_date,
          billing_end_date, document_number, total_consumption, cost, tax_amount,
          if(row_number() OVER (PARTITION BY meter_id, account_number, billing_start_date ORDER BY h.version) = 1, fees, fees - fees) AS fees,
          toInt32(${documentMiddle(sql`h`)}) AS middle
        FROM (SELECT * FROM bill_history WHERE state = 'current' AND ${ours}) AS h
        ANY LEFT JOIN (SELECT version, tax_amount FROM billing_period WHERE ${ours}) AS t ON t.version = h.version
        ANY LEFT JOIN (
          SELECT meter_id, account_number, billing_start_date,
            toNullable(sumIf(amount, line_type NOT IN ('Energy', 'Delivery'))) AS fees
          FROM bill_line WHERE ${ours} GROUP BY meter_id, account_number, billing_start_date
        ) AS l ON l.meter_id = h.meter_id AND l.account_number = h.account_number
          AND l.billing_start_date = h.billing_start_date
      ) AS b ON b.meter_id = m.meter_id AND b.account_number = m.account_number
      WHERE middle BETWEEN m.first_day AND m.last_day
      GROUP BY run, meter_id, account_number, first_day`
  return {
    sql: sql`CREATE TABLE ${id(tables.billed)} ENGINE = MergeTree ORDER BY (run, meter_id, account_number, first_day) AS
      ${withAccountRows(documents, ours)}`,
  }
}

/**
 * Adds what is known of the account: its plans in force on the last billed day, and, where its bills and
 * their lines do not have them, taxes and fees of an invoice that comes to what was billed. A budget
 * instalment is divided among the account's bills of a run by what was billed.
 */
function withAccountRows(documents: Sql, ours: Sql): Sql {
  const isInvoice = sql`i.1 = ifNull(billed_cost, 0) AND (has(documents, i.2) OR i.3 BETWEEN end_date AND end_date + ${literal(invoiceDaysMax)})`
  const inForce = (plan: string) =>
    sql`arrayFilter(p -> p.1 = ${literal(plan)} AND p.2 <= end_date AND p.3 >= end_date, plans)`
  return sql`
      SELECT run, meter_id, account_number, first_day, start_date, end_date, documents, billed_quantity, billed_cost,
        coalesce(billed_tax, invoice.4) AS billed_tax, coalesce(billed_fees, invoice.5) AS billed_fees,
        notEmpty(budgets) AS is_budget,
        if(is_budget, multiIf(bills = 1 OR billed = 0, budgets[-1].4,
            CAST(round(toDecimal128(budgets[-1].4, 6) * toDecimal128(billed_cost, 6) / toDecimal128(billed, 6), 2), 'Nullable(Decimal(18, 6))')), NULL) AS budget,
        arrangements[-1].4 AS arrangement
      FROM (
        SELECT *, count() OVER account AS bills, sum(ifNull(billed_cost, 0)) OVER account AS billed,
          ${inForce('BudgetBilling')} AS budgets, ${inForce('PaymentArrangement')} AS arrangements,
          if(bills = 1, arrayFirst(i -> ${isInvoice}, invoices), CAST((0, '', toDate(0), NULL, NULL), 'Tuple(Decimal(18, 6), String, Date, Nullable(Decimal(18, 6)), Nullable(Decimal(18, 6)))')) AS invoice
        FROM (${documents}) AS b
        ANY LEFT JOIN (
          SELECT account_number AS p_account, groupArray((plan_type, start_date, ends, installment_amount)) AS plans
          FROM (
            SELECT account_number, toString(plan_type) AS plan_type, start_date, installment_amount,
              coalesce(end_date, if(status = 'Active', toDate('2149-06-06'), start_date - 1)) AS ends
            FROM payment_plan WHERE ${ours} ORDER BY start_date
          )
          GROUP BY account_number
        ) AS p ON p_account = account_number
        ANY LEFT JOIN (
          SELECT account_number AS i_account, arraySort(i -> i.3, groupArray((total, invoice_number, invoice_date, tax, fees))) AS invoices
          FROM (
            SELECT account_number, invoice_number, min(invoice_date) AS invoice_date, sum(amount) AS total,
              toNullable(sumIf(amount, line_type = 'Tax')) AS tax,
              toNullable(sumIf(amount, line_type NOT IN ('Energy', 'Delivery'))) AS fees
            FROM invoice_line
            WHERE ${ours} AND invoice_number IN (SELECT invoice_number FROM invoice_line_row WHERE ${ours})
            GROUP BY account_number, invoice_number
          )
          GROUP BY account_number
        ) AS i ON i_account = account_number
        WINDOW account AS (PARTITION BY run, account_number)
      )`
}
