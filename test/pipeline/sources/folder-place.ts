import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Prepared } from './conformance.js'

/** What senders do, where the source's folder is one of this machine. */
export function placeAt(folder: string): Omit<Prepared, 'settings' | 'secret'> {
  return {
    put: async (name, content) => writeFileSync(join(folder, name), content),
    names: async (below = '.') => {
      const at = join(folder, below)
      return readdirSync(at).filter((name) => statSync(join(at, name)).isFile())
    },
    text: async (name) => readFileSync(join(folder, name), 'utf8'),
    remove: async (name) => rmSync(join(folder, name)),
  }
}
