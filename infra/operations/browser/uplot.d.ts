/** The script of the package uplot, which the page loads ahead of its own. */
declare const uPlot: typeof import('uplot').default
