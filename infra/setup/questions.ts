import { Fault } from '../../schemas/fault.js'
import { parseProfile } from '../../schemas/settings/profile.js'
import { sourceOf } from './source-address.js'

/** What `tieline init` has to know; the keys are those of its flags. */
export interface Answers {
  readonly company?: string
  readonly timeZone?: string
  readonly source?: string
  readonly hostKey?: string
  readonly issuer?: string
  readonly audience?: string
  readonly cis?: string
}

export interface Question {
  readonly name: keyof Answers
  readonly flag: string
  readonly text: string
  /** Taken without a flag; a question without it has to be answered. */
  readonly usual?: string
  /** The flag and its value on which the question depends. */
  readonly after?: { readonly what: string; readonly isSet: (answers: Answers) => boolean }
  /** The settings of an answer, for the profile's own rules. */
  readonly settings: (answer: string) => object
}

const anyKey = `SHA256:${'A'.repeat(43)}`
const ofSftp = {
  what: '--source sftp://...',
  isSet: ({ source = '' }: Answers) => source.startsWith('sftp:'),
}
const ofGateway = { what: '--issuer', isSet: ({ issuer = '' }: Answers) => issuer !== '' }

const oidc = (more: object) => ({
  identity: {
    kind: 'oidc',
    claim: 'sub',
    issuers: [{ issuer: 'https://login.example.com', audience: 'tieline', ...more }],
  },
})

/** In the order in which they are asked. */
export const questions: readonly Question[] = [
  {
    name: 'company',
    flag: '--company',
    text: 'Company code, the first part of your file names (several: A,B)',
    settings: (answer) => ({ companyCodes: companiesOf(answer) }),
  },
  {
    name: 'timeZone',
    flag: '--time-zone',
    text: 'Time zone of the meters, such as America/Detroit',
    settings: (timeZone) => ({ timeZone }),
  },
  {
    name: 'source',
    flag: '--source',
    text: 'Where files come from: a folder, sftp://user@host/path, ftp://user@host/path, s3://bucket/prefix/',
    usual: 'inbox',
    settings: (answer) => ({ sources: [sourceOf(answer, anyKey)] }),
  },
  {
    name: 'hostKey',
    flag: '--host-key',
    text: "Fingerprint of the server's key, output of ssh-keyscan HOST | ssh-keygen -lf -",
    after: ofSftp,
    settings: (answer) => ({ sources: [sourceOf('sftp://user@host/path', answer)] }),
  },
  {
    name: 'issuer',
    flag: '--issuer',
    text: 'Issuer of the OpenID provider, https://... (empty: no gateway)',
    usual: '',
    settings: (issuer) => (issuer === '' ? {} : oidc({ issuer })),
  },
  {
    name: 'audience',
    flag: '--audience',
    text: 'Audience that its tokens have for Tieline',
    usual: 'tieline',
    after: ofGateway,
    settings: (audience) => oidc({ audience }),
  },
  {
    name: 'cis',
    flag: '--cis',
    text: 'Address of the CIS, https://...',
    after: ofGateway,
    settings: (url) => ({ cis: { kind: 'rest', url } }),
  },
]

export function companiesOf(answer: string): readonly string[] {
  return answer.split(',').map((code) => code.trim())
}

/** What is wrong with an answer, in the words of the profile's rules; undefined if it is good. */
export function problemOf({ settings }: Question, answer: string): string | undefined {
  const least = { companyCodes: ['ACME'], timeZone: 'America/Detroit' }
  try {
    parseProfile({ ...least, ...settings(answer) })
    return undefined
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return error.detail.replaceAll('\n', '; ')
  }
}
