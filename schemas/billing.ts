import { z } from 'zod'

/** How the bills of a utility are computed, where utilities differ. */
export const billingSettings = z
  .strictObject({
    /** Each line to the cent, the total once, or six decimals and no cents at all. */
    rounding: z.enum(['line', 'total', 'none']).default('line'),
    /** Components of energy that percents do not apply to. */
    untaxed: z.array(z.string().min(1, 'name a component')).readonly().default([]),
    /** Days of a month by which amounts for each month are prorated. */
    monthDays: z.number().min(1).max(31).default(30),
    /** Whether months of 26 to 35 days are one whole amount, or prorated as all others. */
    prorateMonths: z.enum(['odd', 'always']).default('odd'),
    tierLimitRounding: z.enum(['none', 'unit']).default('none'),
    /** The midnight at which periods break: that of the wall, or that of standard time all year. */
    periodClock: z.enum(['wall', 'standard']).default('wall'),
  })
  .readonly()
  .prefault({})

export type BillingRules = z.output<typeof billingSettings>
