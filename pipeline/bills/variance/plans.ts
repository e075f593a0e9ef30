import type { Statement } from '../../store/clickhouse.js'
import { id, sql } from '../../store/sql.js'
import type { Pricing } from '../price.js'
import { isCost, latestSteps, stageOf } from './variance.js'

/**
 * Neutralises payment plans where nothing else explains the bill. A customer on budget billing was charged
 * the instalment, or what was billed if the plan does not name one; it counts where it is nearer to what
 * was billed. An instalment of a payment arrangement was charged in addition, if that makes the bill match.
 */
export function neutralisePlans(pricing: Pricing): Statement {
  const [own, billed] = [sql`assumeNotNull(own_total)`, sql`assumeNotNull(billed_cost)`]
  const isOpen = sql`NOT ${isCost(own, billed)}`
  const added = sql`(${own} + assumeNotNull(arrangement))`
  return {
    sql: sql`INSERT INTO ${id(pricing.tables.steps)} (run, meter_id, account_number, first_day, stage, shift, quantity, total)
      SELECT run, meter_id, account_number, first_day,
        if(has_budget, ${stageOf('budgetBilling')}, ${stageOf('paymentArrangement')}), shift, own_quantity,
        if(has_budget, charged, ${added})
      FROM (
        SELECT *, ifNull(budget, ${billed}) AS charged,
          is_budget AND (${isOpen} OR charged = ${billed}) AND abs(charged - ${billed}) < abs(${own} - ${billed}) AS has_budget,
          arrangement IS NOT NULL AND ${isOpen} AND ${isCost(added, billed)} AS has_arrangement
        FROM (${latestSteps(pricing)})
        WHERE own_total IS NOT NULL AND billed_cost IS NOT NULL
      )
      WHERE has_budget OR has_arrangement`,
  }
}
