import {
  type AssertionParts,
  acsUrl,
  assertionOf,
  createSamlSigner,
  entityId,
  instant,
  type ResponseParts,
  responseOf,
  type SigningParts,
  signXml,
} from './saml-provider.js'

export const signer = createSamlSigner()
/** Whom nobody trusts. */
export const other = createSamlSigner()

interface Parts {
  readonly assertion?: AssertionParts
  readonly response?: ResponseParts
  readonly signing?: SigningParts
}

export const signed = ({ assertion, response, signing }: Parts = {}) =>
  signXml(responseOf(assertionOf(assertion), response), signer, signing)

const evil = assertionOf({ nameId: '<saml:NameID>C-2</saml:NameID>', id: '_evil' })
const signatureOf = (xml: string) => /<Signature .*<\/Signature>/s.exec(xml)?.[0] ?? ''
const assertionIn = (xml: string) => /<saml:Assertion .*<\/saml:Assertion>/s.exec(xml)?.[0] ?? ''

/** The eight ways of XSW (Somorovsky et al., USENIX Security 2012), and then some. */
export function wrapped(): Readonly<Record<string, string>> {
  const text = signed()
  const own = assertionIn(text)
  const signature = signatureOf(text)
  const bare = own.replace(signature, '')
  const evilWith = (content: string) => evil.replace('</saml:Issuer>', `</saml:Issuer>${content}`)
  const object = (content: string) =>
    signature.replace('</Signature>', `<Object>${content}</Object></Signature>`)
  const whole = signXml(text, signer, { element: 'Response' })
  return {
    'beside it, evil first': text.replace(own, evil + own),
    'beside it, evil last': text.replace(own, own + evil),
    'evil around it': text.replace(own, evilWith(own)),
    'evil around its signature': text.replace(own, evilWith(signature) + bare),
    'original in the signature': text.replace(own, evilWith(object(bare))),
    'original in an extension': text.replace(
      own,
      `<samlp:Extensions>${own}</samlp:Extensions>${evil}`,
    ),
    'original in the evil subject': text.replace(
      own,
      evil.replace('<saml:Subject>', `<saml:Subject>${own}`),
    ),
    'the whole response in an evil one': responseOf(evilWith(signature) + whole),
    'evil with the same id': text.replace(own, evilWith(signature).replace('_evil', '_a1')),
    'evil with the same id, original behind': text.replace(
      own,
      evilWith(object(bare)).replace('_evil', '_a1'),
    ),
    'original in another namespace': text.replace(
      own,
      `${evil}<x:Assertion xmlns:x="urn:x">${own}</x:Assertion>`,
    ),
  }
}

/** What costs much before anybody has looked at a signature. */
export function bombs(): Readonly<Record<string, string>> {
  const text = signed()
  const exclusive = 'http://www.w3.org/2001/10/xml-exc-c14n#'
  const transform = `<Transform Algorithm="${exclusive}"/>`
  const prefixes = (count: number) =>
    `<InclusiveNamespaces xmlns="${exclusive}" PrefixList="${'saml '.repeat(count)}"/>`
  const within = (name: string, content: string) =>
    text.replace(`</${name}>`, `${content}</${name}>`)
  return {
    '80 transforms': within('Transforms', transform.repeat(80)),
    'one transform twice': within('Transforms', transform),
    '40 references': text.replace(/<Reference .*<\/Reference>/s, (one) => one.repeat(40)),
    'prefixes to transform': text.replace(
      transform,
      transform.replace('/>', `>${prefixes(2_000)}</Transform>`),
    ),
    'a certificate of many parts': within('Signature', `<KeyInfo>${'<a/>'.repeat(200)}</KeyInfo>`),
    'elements in what is signed': within('SignedInfo', '<a/>'.repeat(200)),
    'a reference to the whole document': text.replace('URI="#_a1"', 'URI=""'),
    'a signature by another key': signXml(responseOf(assertionOf()), other),
  }
}

const now = Date.now()
const sha1 = 'http://www.w3.org/2000/09/xmldsig#sha1'
const rsaSha1 = 'http://www.w3.org/2000/09/xmldsig#rsa-sha1'
const bomb = '<!DOCTYPE r [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>'
const statusOf = (value: string) =>
  `<samlp:Status><samlp:StatusCode Value="${value}"/></samlp:Status>`

/** What is wrong, and what the log calls it. */
export const wrong: Readonly<Record<string, readonly [string, string]>> = {
  'no XML': ['hello', 'malformed token'],
  'not well-formed': ['<a b=>', 'malformed token'],
  'a lost end': [signed().replace('</saml:Subject>', ''), 'signature'],
  'an unknown entity': [signed().replace('C-1', '&nobody;'), 'malformed token'],
  'a document type': [bomb + signed(), 'malformed token'],
  'a document type in small letters': [
    bomb.replace('DOCTYPE', 'doctype') + signed(),
    'malformed token',
  ],
  CDATA: [signed().replace('C-1', '<![CDATA[C-1]]>'), 'malformed token'],
  'an instruction': [signed().replace('C-1', '<?x y?>C-1'), 'malformed token'],
  'too deep': [responseOf('<a>'.repeat(60) + '</a>'.repeat(60)), 'malformed token'],
  'too many elements': [responseOf('<a/>'.repeat(4_000)), 'malformed token'],
  'no response': [assertionIn(signed()), 'malformed token'],
  'a request': [signed().replaceAll('samlp:Response', 'samlp:AuthnRequest'), 'malformed token'],
  'SAML 1.1': [signed().replace('Version="2.0"', 'Version="1.1"'), 'malformed token'],
  'another destination': [
    signed({ response: { attributes: 'Destination="https://x.example"' } }),
    'destination',
  ],
  'another issuer of the response': [signed().replace(entityId, 'https://x.example'), 'issuer'],
  'no status': [signed({ response: { status: '' } }), 'status'],
  'a failure': [
    signed({ response: { status: statusOf('urn:oasis:names:tc:SAML:2.0:status:Requester') } }),
    'status',
  ],
  'two statuses': [
    signed({
      response: { status: statusOf('urn:oasis:names:tc:SAML:2.0:status:Success').repeat(2) },
    }),
    'status',
  ],
  'no assertion': [responseOf(''), 'assertions'],
  'two assertions': [responseOf(assertionOf() + assertionOf({ id: '_a2' })), 'assertions'],
  'an encrypted assertion': [
    responseOf('<saml:EncryptedAssertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"/>'),
    'encrypted',
  ],
  'an encrypted name': [signed({ assertion: { nameId: '<saml:EncryptedID/>' } }), 'encrypted'],
  unsigned: [responseOf(assertionOf()), 'signature'],
  'only the response signed': [
    signXml(responseOf(assertionOf()), signer, { element: 'Response' }),
    'signature',
  ],
  'another key': [signXml(responseOf(assertionOf()), other), 'signature'],
  'the response signed by another key': [
    signXml(signed(), other, { element: 'Response' }),
    'signature',
  ],
  'two signatures': [
    signed().replace(/<Signature .*<\/Signature>/s, (signature) => signature.repeat(2)),
    'signature',
  ],
  'the signature of the response in the assertion': [
    signXml(responseOf(assertionOf()), signer, { element: 'Response', place: 'Assertion' }),
    'signature',
  ],
  'changed afterwards': [signed().replace('C-1', 'C-2'), 'signature'],
  'a signature by SHA-1': [signed({ signing: { algorithm: rsaSha1 } }), 'signature'],
  'a digest by SHA-1': [signed({ signing: { digest: sha1 } }), 'signature'],
  'another issuer': [signed({ assertion: { issuer: 'https://x.example' } }), 'issuer'],
  'another version': [signed({ assertion: { version: '1.1' } }), 'assertions'],
  expired: [signed({ assertion: { to: now - 31_000 } }), 'expired'],
  'not yet valid': [signed({ assertion: { from: now + 90_000 } }), 'not yet valid'],
  'issued in the future': [signed({ assertion: { issuedAt: now + 90_000 } }), 'not yet valid'],
  'issued long ago': [signed({ assertion: { issuedAt: now - 4_000_000 } }), 'expired'],
  'a time that is none': [
    signed({ assertion: { statement: '<saml:AuthnStatement AuthnInstant="today"/>' } }),
    'times',
  ],
  'a session that is over': [
    signed({
      assertion: {
        statement: `<saml:AuthnStatement SessionNotOnOrAfter="${instant(now - 60_000)}"/>`,
      },
    }),
    'expired',
  ],
  'no conditions': [signed({ assertion: { conditions: '' } }), 'conditions'],
  'no audience': [signed({ assertion: { conditions: '<saml:Conditions/>' } }), 'conditions'],
  'for one use': [
    signXml(
      responseOf(
        assertionOf().replace('</saml:Conditions>', '<saml:OneTimeUse/></saml:Conditions>'),
      ),
      signer,
    ),
    'conditions',
  ],
  'no statement': [signed({ assertion: { statement: '' } }), 'subject'],
  'another recipient': [
    signed({ assertion: { recipient: 'https://x.example' } }),
    'subject confirmation',
  ],
  'holder of key': [
    signed({ assertion: { method: 'urn:oasis:names:tc:SAML:2.0:cm:holder-of-key' } }),
    'subject confirmation',
  ],
  'a confirmation without end': [
    signed({
      assertion: { confirmationData: `<saml:SubjectConfirmationData Recipient="${acsUrl}"/>` },
    }),
    'subject confirmation',
  ],
  'in response to another request': [
    signed({ response: { attributes: 'InResponseTo="_q"' } }),
    'subject confirmation',
  ],
  'no name': [signed({ assertion: { nameId: '' } }), 'no customer claim'],
  'an empty name': [signed({ assertion: { nameId: '<saml:NameID/>' } }), 'no customer claim'],
  'two names': [
    signed({ assertion: { nameId: '<saml:NameID>C-1</saml:NameID>'.repeat(2) } }),
    'no customer claim',
  ],
  'a name that does not last': [
    signed({
      assertion: {
        nameId:
          '<saml:NameID Format="urn:oasis:names:tc:SAML:2.0:nameid-format:transient">C-1</saml:NameID>',
      },
    }),
    'no customer claim',
  ],
}
