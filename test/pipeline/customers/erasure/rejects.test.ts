import t from 'tap'
import { eraseDue } from '../../../../pipeline/steps/erase.js'
import { reconcile } from '../../../../pipeline/steps/reconcile.js'
import { settle } from '../../../../pipeline/steps/settle.js'
import { createLineByHand } from '../../by-hand.js'
import { createErasing } from '../../erase/erasing.js'

const line = await createLineByHand(t)
const { context, takeIn } = line
const { terminate, find } = createErasing(line)

t.test('an account is found in its own column where a rejected row has that', async (t) => {
  const staying = [
    'STAYS,S,4711,6/1/2024 1:00,x',
    'STAYS,4711,M,6/1/2024 2:00,x',
    '"STAYS",S,M,"4711",1',
    'STAYS,S,M,6/1/2024 3:00,4711-',
    '"STAYS,4711",S,M,6/1/2024 3:00,x',
  ]
  const gone = [
    '4711,S,M,6/1/2024 1:00,x',
    ' "4711" ,S,M,6/1/2024 2:00,x',
    '4711,=S,M,6/1/2024 3:00,1',
    '=4711,S,M,6/1/2024 3:00,1',
    '"47,11",S,M,6/1/2024 3:00,x',
    '"47""11",S,M,6/1/2024 3:00,x',
    'STAYS,S,M,4711,6/1/2024 3:00,1',
    'A,PREMISE,M,6/1/2024 3:00,x',
  ]
  const elsewhere = ['A,OTHER,M,6/1/2024 3:00,x', 'STAYS,PREMISE,A,6/1/2024 3:00,x']
  const rows = [...staying, ...gone, ...elsewhere]
  const arrival = await takeIn('DEMO_01062024_Electric.csv', rows)
  await reconcile(context, arrival)
  await settle(context, arrival)
  t.equal((await find('SELECT 1 FROM rejected_row')).length, rows.length)
  await terminate(...['4711', '47,11', '47"11'].map((account_number) => ({ account_number })), {
    account_number: 'A',
    external_site_id: 'PREMISE',
  })
  await eraseDue(context)
  const left = await find<{ raw: string }>('SELECT raw FROM rejected_row ORDER BY line')
  t.same(
    left.map(({ raw }) => raw),
    [...staying, ...elsewhere],
  )
})
