import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * The folder of the package that a module belongs to, whether it runs from its source or from
 * dist/: the nearest folder upwards that holds a package.json.
 */
export function packageRoot(moduleUrl: string): string {
  let folder = dirname(fileURLToPath(moduleUrl))
  while (!existsSync(join(folder, 'package.json'))) {
    const parent = dirname(folder)
    if (parent === folder) throw new Error(`no package.json above ${moduleUrl}`)
    folder = parent
  }
  return folder
}

/** The version that package.json states. */
export function packageVersion(): string {
  const text = readFileSync(join(packageRoot(import.meta.url), 'package.json'), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}
