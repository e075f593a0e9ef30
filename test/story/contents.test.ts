import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readChapters, renderContents, storyFolder } from './rig/contents.js'

const chapters = readChapters()

t.test('each chapter has one number, the number of its folder or file', async (t) => {
  t.same([...new Set(chapters.map(({ number }) => number))].length, chapters.length)
  for (const { path, number } of chapters) {
    t.equal(Number(path.slice(0, 2)), Number(number.split('.')[0]), path)
  }
  const numbers = new Set(chapters.map(({ number }) => Number(number.split('.')[0])))
  t.same([...numbers], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13])
})

t.test('each chapter says what it shows, why, and what to try', async (t) => {
  for (const { path, prose } of chapters) {
    t.same(Object.keys(prose), ['What', 'Why', 'Try'], path)
    for (const text of Object.values(prose)) t.match(text, /^.{20,}\.$/s, path)
  }
})

t.test('the contents page lists the chapters as they are', async (t) => {
  const page = readFileSync(join(storyFolder, 'README.md'), 'utf8')
  t.equal(page, renderContents(chapters), 'write it again as the page says')
})
