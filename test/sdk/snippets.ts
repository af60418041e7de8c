/**
 * The code in a guide, so that tests run exactly what readers copy. A comment `<!-- run: name -->` above a block names
 * one that needs something around it.
 */
import { readFileSync } from 'node:fs';
import { packageFile } from '../../src/config/package-root.ts';

export interface Snippet {
  /** The word behind the fence: `js`, `python`. */
  readonly language: string;
  /** The heading above it. */
  readonly heading: string;
  /** Undefined if it runs as it is. */
  readonly name: string | undefined;
  readonly code: string;
}

const PART =
  /^#{1,6} (?<heading>.+)$|(?:^<!-- run: (?<name>[\w-]+) -->\n\n)?^```(?<language>\w+)\n(?<code>[\s\S]*?)^```$/gm;

/** @param page below the root. @returns its blocks of code in order. */
export function snippetsOf(page: string): readonly Snippet[] {
  const snippets: Snippet[] = [];
  let current = '';
  for (const { groups = {} } of readFileSync(packageFile(page), 'utf8').matchAll(PART)) {
    const { heading, name, language, code = '' } = groups;
    if (language === undefined) current = heading ?? current;
    else snippets.push({ language, heading: current, name, code });
  }
  return snippets;
}
