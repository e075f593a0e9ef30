import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { t } from 'tap'
import { createPseudonymizer } from '../../../../api/access/pseudonym.js'
import { createSaml } from '../../../../api/identity/saml.js'
import {
  identitySettings,
  type SamlSettings,
} from '../../../../schemas/settings/gateway-identity.js'
import { createFolder } from '../../../rig/folder.js'
import { randomFrom, runs } from '../../../rig/sample.js'
import { acsUrl, assertionOf, encode, entityId, responseOf, signXml } from '../saml-provider.js'
import { other, signed, signer } from '../saml-responses.js'

const seed = Date.now() % 1_000_000
const random = randomFrom(seed)
const below = (limit: number) => Math.floor(random() * limit)
const pick = <T>(values: readonly T[]): T => values[below(values.length)] as T

const nameOf = (id: string) => `<saml:NameID>${id}</saml:NameID>`
const evil = responseOf(assertionOf({ nameId: nameOf('C-2'), id: '_evil' }))
/** What an attacker has: a response of his own customer, that of another one, and what he writes. */
const texts = [
  signed(),
  signXml(signed(), signer, { element: 'Response' }),
  signed({ assertion: { nameId: nameOf('C-9'), id: '_a9' } }),
  evil,
  evil.replace('_evil', '_a1'),
  signXml(evil, other),
]
/** Names that a provider signed. */
const provenNames = ['C-1', 'C-9']

interface Place {
  readonly from: number
  readonly to: number
}

/** Where the elements of a text begin and end. */
function elementsOf(text: string): readonly Place[] {
  const places: Place[] = []
  const open: number[] = []
  for (const { 0: tag, index } of text.matchAll(/<[^>]*>/g)) {
    const to = index + tag.length
    if (tag.startsWith('</')) places.push({ from: open.pop() ?? 0, to })
    else if (tag.endsWith('/>')) places.push({ from: index, to })
    else open.push(index)
  }
  return places
}

const edits: readonly ((text: string, piece: string, place: Place) => string)[] = [
  (text, piece, { from }) => text.slice(0, from) + piece + text.slice(from),
  (text, piece, { to }) => text.slice(0, to) + piece + text.slice(to),
  (text, piece, { from, to }) => text.slice(0, from) + piece + text.slice(to),
  (text, _, { from, to }) => text.slice(0, from) + text.slice(to),
  // As the first and the last child.
  (text, piece, { from }) =>
    text.replace(text.slice(from), (rest) => rest.replace('>', `>${piece}`)),
  (text, piece, { to }) => {
    const end = text.lastIndexOf('</', to)
    return end < 0 ? text : text.slice(0, end) + piece + text.slice(end)
  },
  (text, piece, { from, to }) => {
    const own = text.slice(from, to)
    return text.slice(0, from) + piece.replace(/(<\/[^>]*>)$/, `${own}$1`) + text.slice(to)
  },
]
const words: readonly (readonly [RegExp, readonly string[]])[] = [
  [/ ID="[^"]*"/, [' ID="_a1"', ' ID="_a9"', ' x:ID="_a1" xmlns:x="urn:x"', ' Id="_a1"', '']],
  [/URI="[^"]*"/, ['URI="#_a1"', 'URI="#_a9"', 'URI=""', 'URI="#_evil"', 'URI="#xpointer(/)"']],
  [/C-[129]/, ['C-2', 'C-1<!-- -->', '<![CDATA[C-2]]>', '&#67;-2', 'C-2&#0;', 'C-2\u0000']],
  [/xmlns:saml="[^"]*"/, ['xmlns:saml="urn:x"', '']],
  [/<saml:(\w+)/, ['<saml:x', '<x:$1 xmlns:x="urn:oasis:names:tc:SAML:2.0:assertion"']],
  [/^/, ['<!DOCTYPE r [<!ENTITY a "C-2">]>', '<?xml version="1.0"?>', '<!-- -->']],
  [/Algorithm="[^"]*"/, ['Algorithm="http://www.w3.org/2000/09/xmldsig#hmac-sha1"']],
]

function splice(): string {
  let text = pick(texts)
  for (let count = 1 + below(4); count > 0; count--) {
    const source = pick(texts)
    const from = pick(elementsOf(source))
    const place = elementsOf(text).length > 0 ? pick(elementsOf(text)) : { from: 0, to: 0 }
    text = pick(edits)(text, source.slice(from.from, from.to), place)
    if (random() < 0.3) {
      const [word, others] = pick(words)
      text = text.replace(word, pick(others))
    }
  }
  return text
}

t.test('no splicing of responses names anybody whom the provider did not name', async (t) => {
  t.comment(`seed ${seed}`)
  const file = join(createFolder(t), 'idp.pem')
  writeFileSync(file, signer.publicKey)
  const identity = createSaml({
    settings: identitySettings.parse({
      kind: 'saml',
      issuer: entityId,
      audience: 'tieline',
      recipient: acsUrl,
      certFiles: [file],
    }) as SamlSettings,
    pseudonymize: createPseudonymizer('key'),
    tokensCachedMax: 0,
    now: Date.now,
    elapsed: () => 0,
    onFailure: (fault) => t.fail(fault.message),
    report: () => undefined,
  })
  t.teardown(identity.close)
  const seen = new Map<string, number>()
  const named: string[] = []
  for (let at = 0; at < runs(1_500); at++) {
    const text = splice()
    const judged = await identity.identify(encode(text))
    const what = judged.kind === 'refused' ? judged.reason : judged.kind
    seen.set(what, (seen.get(what) ?? 0) + 1)
    if (judged.kind !== 'refused' && !provenNames.includes(judged.clientId)) named.push(text)
  }
  t.same(named, [])
  t.ok((seen.get('customer') ?? 0) > 0 && (seen.get('signature') ?? 0) > 0)
  t.comment(JSON.stringify([...seen]))
})
