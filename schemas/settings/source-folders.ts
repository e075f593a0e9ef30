/** Subfolders of the data folder other than the inbox: a source must not read them. */
export const ownFolders = [
  'outbox',
  'landing',
  'archive',
  'quarantine',
  'backfill',
  'uploads',
  'pushed',
  'clickhouse',
  'redis',
  'logs',
] as const

interface Placed {
  readonly kind: string
  readonly name: string
  readonly path?: string
}

/** What is wrong with the folder of one source of a list. */
export interface FolderProblem {
  readonly index: number
  readonly message: string
}

/**
 * The sources whose folder is another source's, for both would take each file, and those that lie
 * where the data folder keeps its own. A relative path lies in the data folder. Folders of other
 * machines are not looked at.
 */
export function findSharedFolders(sources: readonly Placed[]): readonly FolderProblem[] {
  return sources.flatMap(({ kind, name, path = '' }, index) => {
    if (kind !== 'folder') return []
    const folder = normalize(path)
    const isShared = (one: Placed) => one.kind === 'folder' && normalize(one.path ?? '') === folder
    const other = sources.slice(0, index).find(isShared)
    const message =
      other === undefined
        ? refuseOwn(folder)
        : `is the folder of source ${other.name} too (${other.path}); give each source its own`
    return message === undefined ? [] : [{ index, message: `${path} of source ${name} ${message}` }]
  })
}

function refuseOwn(folder: string): string | undefined {
  const [first = ''] = folder.split('/')
  if (folder === '') return 'is the data folder itself; name a folder in it, such as inbox'
  if (!ownFolders.some((name) => name === first)) return undefined
  return `lies in ${first}, where Tieline keeps files of its own; name another, such as inbox`
}

/** A path without `.`, `..` and slashes that say nothing. Links are followed at a start. */
function normalize(path: string): string {
  const parts: string[] = []
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue
    if (part === '..' && parts.length > 0 && parts.at(-1) !== '..') parts.pop()
    else parts.push(part)
  }
  return (path.startsWith('/') ? '/' : '') + parts.join('/')
}
