/** The module of the package lit-html, which the page loads beside its own. */
export { html, nothing, render, type TemplateResult } from 'lit-html'
