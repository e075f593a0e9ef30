import { test } from 'tap'
import { z } from 'zod'
import { listProblems, remedy } from '../../schemas/problem.js'

const schema = z.strictObject({
  word: z.string(),
  list: z.array(z.strictObject({ size: z.int().min(1).max(9), kind: z.enum(['a', 'b']) })),
  share: z.number().positive(),
})

function problems(value: unknown): readonly string[] {
  const parsed = schema.safeParse(value, { error: remedy })
  return parsed.success ? [] : listProblems(parsed.error).split('\n')
}

test('every problem has a line with its path and what to do', async (t) => {
  const list = [{ size: 0, kind: 'a' }, { size: 10, kind: 'c', extra: 1 }, null, { size: 1.5 }]
  t.same(problems({ list, share: 0, wort: 'x' }), [
    'word: missing: write a text, in quotes if it looks like a number',
    'list[0].size: use at least 1',
    'list[1].size: use at most 9',
    'list[1].kind: use a or b',
    'list[1]: unknown extra: remove it or correct its name; known are size, kind',
    'list[2]: write a section of settings',
    'list[3].size: write a whole number',
    'list[3].kind: use a or b',
    'share: use more than 0',
    'top level: unknown wort: remove it or correct its name; known are word, list, share',
  ])
  t.same(problems(7), ['top level: write a section of settings'])
  t.same(problems({ word: 'w', list: [], share: 1 }), [])
})

test('no value of the input is repeated, for it may be a misplaced secret', async (t) => {
  const secret = 'hunter2'
  for (const value of [secret, { word: [secret], list: secret, share: secret }, { list: [secret] }])
    t.notMatch(problems(value).join('\n'), secret)
})
