/** The grammar of Prometheus' query language, from the package that its own web interface uses. */
import { createNodeProject } from './empty-project.ts';

const PACKAGES = [
  '@prometheus-io/lezer-promql@0.315.0',
  '@lezer/common@1.5.5',
  '@lezer/highlight@1.2.5',
  '@lezer/lr@1.4.12',
];

/** @returns those that are no queries. */
export async function invalidQueries(queries: readonly string[]): Promise<readonly string[]> {
  const project = await createNodeProject(PACKAGES, {});
  try {
    const output = await project.runFile(process.execPath, 'parse.mjs', programFor(queries));
    return JSON.parse(output) as string[];
  } finally {
    await project.close();
  }
}

function programFor(queries: readonly string[]): string {
  return `
import { parser } from '@prometheus-io/lezer-promql';
const isInvalid = (query) => {
  let hasError = false;
  parser.parse(query).iterate({ enter: ({ type }) => { hasError ||= type.isError; } });
  return hasError;
};
console.log(JSON.stringify(${JSON.stringify(queries)}.filter(isInvalid)));
`;
}
