import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { packageRoot } from '../../../infra/package-root.js'
import { ensureProgram } from '../../rig/debian.js'

/** The schema and the rules that others have published; a checkout without them cannot ask them. */
const published = join(
  packageRoot(import.meta.url),
  ...['..', 'shared', 'data', 'foreign', 'green-button'],
)
export const isThere = existsSync(join(published, 'schema', 'espi-4.0.xsd'))

/** An assertion of a suite of rules. */
export interface Assertion {
  readonly test: string
  readonly name: string
  readonly says: string
}

const suiteNumbers = ['01', '04', '05', '06', '07', '08', '09', '10', '11', '12', '15', '16', '17']
export const suites = [...suiteNumbers, '27', '28', '29', '99'].map((number) => `FB_${number}`)

/** The schema of Atom imports this from a server of the W3C. */
const xmlSchema = `<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"
  targetNamespace="http://www.w3.org/XML/1998/namespace">
  <xs:attribute name="base" type="xs:anyURI"/><xs:attribute name="lang" type="xs:string"/>
</xs:schema>`

const both = (folder: string) => `<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">
  <xs:import namespace="http://www.w3.org/2005/Atom" schemaLocation="${folder}/atom.xsd"/>
  <xs:import namespace="http://naesb.org/espi" schemaLocation="${folder}/espi-4.0.xsd"/>
</xs:schema>`

/** What xmllint says against a feed by the schemas of Atom and ESPI 4.0; empty if it is valid. */
export function schemaErrors(folder: string, feed: string): string {
  const xmllint = ensureProgram('/usr/bin/xmllint', 'libxml2-utils')
  const place = (name: string, text: string) => {
    const path = join(folder, name)
    writeFileSync(path, text)
    return path
  }
  const xml = pathToFileURL(place('xml.xsd', xmlSchema)).href
  const catalog = place(
    'catalog.xml',
    `<catalog xmlns="urn:oasis:names:tc:entity:xmlns:xml:catalog">
      <system systemId="http://www.w3.org/2001/03/xml.xsd" uri="${xml}"/>
      <uri name="http://www.w3.org/2001/03/xml.xsd" uri="${xml}"/></catalog>`,
  )
  const schema = place('both.xsd', both(pathToFileURL(join(published, 'schema')).href))
  const found = spawnSync(
    xmllint,
    ['--nonet', '--noout', '--schema', schema, place('feed.xml', feed)],
    { encoding: 'utf8', env: { ...process.env, XML_CATALOG_FILES: catalog } },
  )
  return found.status === 0 ? '' : found.stderr.slice(0, 2_000)
}

/** All assertions of a suite. */
export function assertionsOf(suite: string): readonly Assertion[] {
  const text = readFileSync(join(published, 'rules', `${suite}.sch`), 'utf8')
  return [...text.matchAll(/(D\d{3})\|([^|<]*)\|([^<]*)/g)].map(
    ([, test = '', name = '', says = '']) => ({
      test,
      name: name.replace(/\s+/g, ' ').trim(),
      says: says.replace(/\s+/g, ' ').trim(),
    }),
  )
}

/** Numbers of the assertions of a suite that fail for the file of a feed. */
export function failuresOf(suite: string, path: string): readonly string[] {
  const xsltproc = ensureProgram('/usr/bin/xsltproc', 'xsltproc')
  const rules = join(published, 'rules', `${suite}.xsl`)
  const output = execFileSync(xsltproc, ['--nonet', rules, path], { encoding: 'utf8' })
  if (!output.includes('anElement')) throw new Error(`${suite} has not judged ${path}`)
  return [...new Set([...output.matchAll(/TestID="(D\d{3})"/g)].map(([, test]) => test as string))]
}
