import type { Naming } from '../../schemas/name-pattern.js'
import type { SecretReference } from '../../schemas/settings/secret.js'
import type { SettingsOf, SourceKind, SourceSettings } from '../../schemas/settings/source.js'
import { passingFault } from '../queues/wait.js'
import { createFolder, createSubmitSource } from './folder.js'
import { createRemote } from './remote.js'
import type { RemoteFiles } from './remote-files.js'
import type { Source } from './source.js'

export interface SourceOptions {
  readonly landing: string
  readonly archive: string
  readonly quarantine: string
  readonly freeDiskBytesMin: number
  /** How files are named, from which the files of a set are derived. */
  readonly naming: Naming
  readonly secret: (reference: SecretReference) => string
}

type Driver<K extends SourceKind> = (settings: SettingsOf<K>, options: SourceOptions) => Source

type Connect<K extends SourceKind> = (
  settings: SettingsOf<K>,
  secret: SourceOptions['secret'],
) => () => Promise<RemoteFiles>

const drivers: { readonly [K in SourceKind]: Driver<K> } = {
  folder: (settings, options) => createFolder({ settings, ...options }),
  sftp: remote(async () => (await import('./sftp.js')).connectSftp),
  ftp: remote(async () => (await import('./ftp.js')).connectFtp),
  s3: remote(async () => (await import('./s3.js')).connectS3),
}

/** The driver's library is large, so it is loaded at the first connection. */
function remote<K extends SourceKind>(load: () => Promise<Connect<K>>): Driver<K> {
  return (settings, options) => {
    let made: Promise<() => Promise<RemoteFiles>> | undefined
    const connect = async () => {
      made ??= load().then((connectTo) => connectTo(settings, options.secret))
      return (await made)()
    }
    return createRemote({ settings, ...options, connect })
  }
}

/** The sources of a profile by name, and the source of submitted files. */
export function createSources(
  all: readonly SourceSettings[],
  options: SourceOptions & { readonly notify: (text: string) => void },
): ReadonlyMap<string, Source> {
  const sources = all.map((settings) => watched(createSource(settings, options), options.notify))
  return new Map([createSubmitSource(), ...sources].map((source) => [source.name, source]))
}

export function createSource<K extends SourceKind>(
  settings: SettingsOf<K>,
  options: SourceOptions,
): Source {
  const driver = drivers[settings.kind as K]
  return driver(settings, options)
}

/** A source that reports once that listing it fails and why, and once that it works again. */
export function watched(source: Source, notify: (text: string) => void): Source {
  let reported: string | undefined
  return {
    ...source,
    list: async () => {
      try {
        const listed = await source.list()
        if (reported !== undefined) notify(`source ${source.name} responds again`)
        reported = undefined
        return listed
      } catch (error) {
        const fault = passingFault(error)
        if (fault !== undefined && fault.code !== reported) {
          notify(`source ${source.name} is failing: ${fault.code}: ${fault.detail}`)
          reported = fault.code
        }
        throw error
      }
    },
  }
}
