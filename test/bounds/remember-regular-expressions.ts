/** Records which regular expressions of the program are proved to be linear: see regular-expressions.ts. */
import { writeFile } from 'node:fs/promises';
import { KNOWN_FILE, findExpressions, hashOf, problemOf, readKnown } from './regular-expressions.ts';

const { bounded, linear } = await readKnown();
const expressions = [...(await findExpressions()).keys()];
const proved: string[] = [];
for (const expression of expressions) {
  if (Object.hasOwn(bounded, expression)) continue;
  const problem = linear.includes(hashOf(expression)) ? undefined : problemOf(expression);
  if (problem === undefined) proved.push(hashOf(expression));
  else process.stdout.write(`${problem}: ${expression}\n`);
}
const kept = Object.fromEntries(Object.entries(bounded).filter(([expression]) => expressions.includes(expression)));
await writeFile(KNOWN_FILE, `${JSON.stringify({ bounded: kept, linear: proved.toSorted() }, undefined, 2)}\n`);
