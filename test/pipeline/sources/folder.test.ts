import { mkdirSync, readFileSync, rmdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createFolder as createSource } from '../../../pipeline/sources/folder.js'
import { createFolder } from '../../folder.js'
import { conform } from './conformance.js'
import { placeAt } from './folder-place.js'
import { parseSource } from './settings.js'

conform(t, async (t) => {
  const path = createFolder(t)
  return {
    settings: parseSource({ kind: 'folder', name: 'inbox', path }),
    secret: () => '',
    ...placeAt(path),
  }
})

t.test('the receipt beside a quarantined file is written when it can be, and whole', async (t) => {
  const folder = createFolder(t)
  const at = (name: string) => join(folder, name)
  mkdirSync(at('inbox'))
  const [archive, quarantine, path] = [at('archive'), at('quarantine'), at('inbox/a.csv')]
  const settings = parseSource({ kind: 'folder', name: 'inbox', path: at('inbox') })
  const naming = { companyCodes: ['DEMO'], fileNames: [] }
  const source = createSource({ settings, archive, quarantine, naming })
  writeFileSync(path, 'bytes')
  const { size: bytes, mtimeMs } = statSync(path)
  const entry = { source: 'inbox', name: 'a.csv', path, bytes, force: false }
  const modifiedMs = Math.trunc(mtimeMs)
  const arrival = { ...entry, modifiedMs, arrival: 7, arrivedAt: new Date() }
  const settlement = { outcome: 'quarantined', receipt: '{}', rejectsPath: undefined } as const
  const receipt = at('quarantine/7-a.csv.receipt.json')
  mkdirSync(receipt, { recursive: true })
  await t.rejects(source.settle(arrival, settlement), { name: 'Fault', retry: true })
  rmdirSync(receipt)
  await source.settle(arrival, settlement)
  t.equal(readFileSync(receipt, 'utf8'), '{}')
  t.equal(readFileSync(at('quarantine/7-a.csv'), 'utf8'), 'bytes')
})
