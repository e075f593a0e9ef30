import { z } from 'zod'

const operation = z.object({
  operationId: z.string(),
  summary: z.string(),
  deprecated: z.boolean().optional(),
  requestBody: z.unknown().optional(),
  responses: z.record(
    z.string(),
    z.object({ description: z.string(), content: z.unknown().optional() }),
  ),
})
const documentSchema = z.object({
  info: z.object({ title: z.string() }),
  servers: z.array(z.object({ url: z.string() })),
  paths: z.record(z.string(), z.record(z.string(), operation)),
  components: z.object({ schemas: z.record(z.string(), z.unknown()) }),
})

const style = `body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
code,pre{font:14px/1.4 ui-monospace,monospace}pre{background:#f4f4f4;padding:1rem;overflow:auto}
table{border-collapse:collapse}td,th{border:1px solid #ccc;padding:.3rem .6rem;text-align:left}`

/** A page for people of an OpenAPI document; nothing in it comes from another host. */
export function renderReference(document: unknown): string {
  const { info, servers, paths, components } = documentSchema.parse(document)
  const base = servers[0]?.url ?? ''
  const sections = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, one]) =>
      renderOperation(`${method.toUpperCase()} ${base}${path}`, one),
    ),
  )
  const schemas = Object.entries(components.schemas).map(
    ([name, schema]) =>
      `<h3 id="${htmlText(name)}">${htmlText(name)}</h3><pre>${htmlText(JSON.stringify(schema, undefined, 2))}</pre>`,
  )
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>${htmlText(info.title)}</title>
<style>${style}</style><h1>${htmlText(info.title)}</h1>
<p>The same as a document for programs: <a href="openapi.json">openapi.json</a></p>
${sections.join('\n')}<h2>Schemas</h2>${schemas.join('\n')}</html>\n`
}

function renderOperation(title: string, one: z.output<typeof operation>): string {
  const rows = Object.entries(one.responses).map(([status, { description, content }]) => {
    const body = /#\/components\/schemas\/(\w+)/.exec(JSON.stringify(content ?? ''))?.[1]
    const link = body === undefined ? 'none' : `<a href="#${htmlText(body)}">${htmlText(body)}</a>`
    return `<tr><td>${htmlText(status)}</td><td>${htmlText(description)}</td><td>${link}</td></tr>`
  })
  const old = one.deprecated ? ' (deprecated)' : ''
  return `<h2><code>${htmlText(title)}</code>${old}</h2><p>${htmlText(one.summary)}</p>
<table><tr><th>Status</th><th>Meaning</th><th>Body</th></tr>${rows.join('')}</table>`
}

function htmlText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}
