import t from 'tap'
import { steadyBill } from './bills.js'

const month = { first: '2026-01-01', last: '2026-01-31' }
const tierFiles = {
  RateCodes: ['R,Residential,Tiered,,'],
  RateTiers: ['R,1,10,0.1,2025-01-01,,,', 'R,2,,0.2,2025-01-01,,,'],
}

t.test('tier limits are the factor times the days', async (t) => {
  // 744 kWh: 310 in tier 1, 434 in tier 2.
  t.same(steadyBill({ ...month, files: tierFiles }, 0.25), {
    lines: [
      ['Tier 1', 310, 31],
      ['Tier 2', 434, 86.8],
    ],
    total: 117.8,
  })
})

t.test('a tier price that changes fills the tiers in the order of time', async (t) => {
  const files = {
    ...tierFiles,
    RateTiers: [
      'R,1,10,0.1,2025-01-01,2026-01-10,,',
      'R,2,,0.2,2025-01-01,2026-01-10,,',
      'R,1,20,0.3,2026-01-11,,,',
      'R,2,,0.4,2026-01-11,,,',
    ],
  }
  // The limit is 10 x 10 + 20 x 21 = 520. By the 10th 240 kWh are used, all in tier 1; of the other
  // 504 kWh 280 still fit.
  t.same(steadyBill({ ...month, files }, 0.25), {
    lines: [
      ['Tier 1', 240, 24],
      ['Tier 2', 0, 0],
      ['Tier 1', 280, 84],
      ['Tier 2', 224, 89.6],
    ],
    total: 197.6,
  })
})

t.test('where the number of tiers changes each unit is in one of them', async (t) => {
  const files = {
    RateCodes: ['R,Residential,Tiered,,'],
    RateTiers: [
      'R,1,10,0.1,2025-01-01,2026-01-15,,',
      'R,2,12,0.2,2025-01-01,2026-01-15,,',
      'R,3,,0.3,2025-01-01,2026-01-15,,',
      'R,1,10,0.1,2026-01-16,,,',
      'R,2,,0.2,2026-01-16,,,',
    ],
  }
  // Limits of 31 x 10 = 310 and of 15 x 12 + 16 x 10 = 340; 720 kWh until the change, 768 behind it.
  t.same(steadyBill({ ...month, files }, 0.5), {
    lines: [
      ['Tier 1', 310, 31],
      ['Tier 2', 30, 6],
      ['Tier 3', 380, 114],
      ['Tier 1', 0, 0],
      ['Tier 2', 768, 153.6],
    ],
    total: 304.6,
  })
})

t.test('a limit of the period below one of the day before it leaves its tier empty', async (t) => {
  const RateTiers = [
    'R,1,10,0.1,2025-01-01,,,',
    'R,2,,0.2,2025-01-01,,100,',
    'R,3,,0.3,2025-01-01,,,',
  ]
  const files = { RateCodes: ['R,Residential,Tiered,,'], RateTiers }
  const bill = steadyBill({ ...month, files }, 0.25)
  t.same(bill.lines, [
    ['Tier 1', 310, 31],
    ['Tier 2', 0, 0],
    ['Tier 3', 434, 130.2],
  ])
})
