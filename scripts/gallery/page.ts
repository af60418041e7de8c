/** The contact sheet as one HTML page without any script. */

export interface ExhibitFile {
  /** Relative to the page. */
  readonly name: string;
  readonly type: string;
  readonly facts: string;
}

/** One task: the request and the outputs. */
export interface Exhibit {
  readonly model: string;
  readonly description: string;
  /** The input as JSON. */
  readonly input: string;
  readonly seconds: number;
  readonly cost: string;
  readonly files: readonly ExhibitFile[];
  readonly problems: readonly string[];
}

const STYLE = `
  :root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
  body { margin: 2rem auto; max-width: 76rem; padding: 0 1.5rem; }
  article { border-top: 1px solid color-mix(in srgb, currentColor 20%, transparent); padding: 1.5rem 0; }
  h2 { margin: 0 0 .25rem; font-size: 1.15rem; }
  .files { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fill, minmax(17rem, 1fr)); margin: 1rem 0; }
  .files.one { grid-template-columns: minmax(0, 44rem); }
  figure { margin: 0; }
  img, video { max-width: 100%; border-radius: 4px; display: block; }
  audio { width: 100%; }
  figcaption, .facts { font-size: .85rem; opacity: .75; }
  pre { font-size: .8rem; overflow: auto; padding: .75rem; background: color-mix(in srgb, currentColor 7%, transparent); }
  .problem { color: #c22; }
`;

export function page(exhibits: readonly Exhibit[]): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Darkroom: the embedded models</title>
<style>${STYLE}</style>
<h1>What the embedded models make</h1>
${exhibits.map(article).join('\n')}
</html>
`;
}

function article({ model, description, input, seconds, cost, files, problems }: Exhibit): string {
  return `<article>
<h2>${escaped(model)}</h2>
<p>${escaped(description)}</p>
<div class="files${files.length === 1 ? ' one' : ''}">
${files.map(figure).join('\n')}
</div>
${problems.map((problem) => `<p class="problem">${escaped(problem)}</p>`).join('\n')}
<p class="facts">${seconds.toFixed(1)} s, ${escaped(cost)}</p>
<pre>${escaped(`POST /v1/tasks\n{"model": ${JSON.stringify(model)}, "input": ${input}}`)}</pre>
</article>`;
}

function figure({ name, type, facts }: ExhibitFile): string {
  return `<figure>${player(name, type)}<figcaption>${escaped(`${type}: ${facts}`)}</figcaption></figure>`;
}

function player(name: string, type: string): string {
  const source = escaped(name);
  if (type === 'video') return `<video controls preload="metadata" src="${source}"></video>`;
  if (type === 'audio') return `<audio controls preload="metadata" src="${source}"></audio>`;
  return `<a href="${source}"><img loading="lazy" alt="" src="${source}"></a>`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
