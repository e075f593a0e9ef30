import { z } from 'zod'
import { section } from '../strict.js'

/** How the bills of a utility are computed, where utilities differ. */
export const billingSettings = section({
  /** Each line to the cent, the total once, or six decimals and no cents at all. */
  rounding: z.enum(['line', 'total', 'none']).default('line'),
  /** Components of energy that percents do not apply to. */
  untaxed: z.array(z.string().min(1, 'name a component')).readonly().default([]),
  /** Days of a month by which amounts for each month are prorated. */
  monthDays: z.number().min(1).max(31).default(30),
  /** Whether months of 26 to 35 days are one whole amount, or prorated as all others. */
  prorateMonths: z.enum(['odd', 'always']).default('odd'),
  /** Below this share of its intervals a meter has no bill, for it would be one of a few days. */
  presentShareMin: z.number().min(0).max(1).default(0.6),
  /** Whether the limits of tiers hold for each meter, or for all meters of an account together. */
  tierScope: z.enum(['meter', 'account']).default('meter'),
  tierLimitRounding: z.enum(['none', 'unit']).default('none'),
  /** Files of a period that come within so long of the first are billed by one run. */
  quietMinutes: z.number().min(0).max(1_440).default(10),
  /** A correction of a period that ended longer ago is billed where a person asks for it, and so are rates compared. */
  daysBackMax: z.int().min(1).max(36_500).default(400),
  /** Local hour from which on the bills of open periods are projected, once a day. */
  dailyHour: z.int().min(0).max(23).default(8),
  /** The midnight at which periods break: that of the wall, or that of standard time all year. */
  periodClock: z.enum(['wall', 'standard']).default('wall'),
})

export type BillingRules = z.output<typeof billingSettings>
