import { createStore } from '../../../pipeline/store/clickhouse.js'
import { createPlatform, readKept, writeKept } from './consumer.js'
import { readingBy } from './rig.js'

/** A platform that pulls once and keeps its copy in a file; it is killed in the middle. */
const [address = '', path = '', now = ''] = process.argv.slice(2)
const reader = createStore(JSON.parse(address), 'verbatim')
const kept = readKept(path)
const pull = createPlatform(readingBy(reader, { now: () => new Date(now) }), kept, {
  wrote: () => writeKept(path, kept),
})
process.send?.('begins')
await pull()
await reader.close()
process.disconnect?.()
