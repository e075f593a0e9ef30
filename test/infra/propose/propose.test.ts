import t from 'tap'
import { sampleProfile, withSection } from '../../../infra/propose/judge.js'
import { toSection } from '../../../infra/propose/section.js'
import { layouts, unloadable } from './layouts.js'
import { openOf, proposalFor, readsBy, toTexts } from './loaded.js'

const outcomes = { right: 0, asked: 0, wrong: 0 }

for (const layout of layouts) {
  t.test(layout.system, async (t) => {
    const { answers = {}, timeZone, reads } = layout
    const first = await proposalFor(layout, { '/timeZone': timeZone })
    const open = openOf(first)
    t.same(
      open.filter((setting) => !(setting in answers)),
      [],
      'nothing else is asked',
    )
    if (open.length > 0) {
      t.throws(() => withSection(sampleProfile, toSection(first)), { code: 'PROFILE' })
    }
    const proposal = await proposalFor(layout, { ...answers, '/timeZone': timeZone })
    t.same(openOf(proposal), [], 'the answers suffice')
    // The other direction of the channels has zeros only.
    const found = (await readsBy(layout, proposal)).filter((one) => !one.includes('-Received'))
    const isRight = t.same(found, toTexts(reads), 'each read has its meter, instant and quantity')
    if (!isRight) outcomes.wrong++
    else if (open.length === 0) outcomes.right++
    else outcomes.asked++
  })
}

for (const { system, file, says } of unloadable) {
  t.test(system, async (t) => {
    let text = ''
    try {
      const { findings } = await proposalFor({ file }, { '/timeZone': 'Europe/Paris' })
      const open = findings.filter(({ question }) => question !== undefined)
      text = open.map((one) => `${one.setting}: ${one.question} (${one.evidence})`).join('\n')
    } catch (error) {
      text = String(error)
    }
    t.match(text, says)
    outcomes.asked++
  })
}

t.test('no proposal is silently wrong', async (t) => {
  t.comment(`${outcomes.right} right at once, ${outcomes.asked} asked, ${outcomes.wrong} wrong`)
  t.equal(outcomes.wrong, 0)
  t.ok(layouts.length + unloadable.length >= 25)
})
