/**
 * What the files of a directory may take together, in seconds on two idle cores. One that takes more is marked at the
 * end of a run, which does not fail: a change that exceeds its budget makes its tests faster, or moves them to a group
 * of `npm run test:wide` (scripts/test-files.mjs).
 */
export const TEST_BUDGET_SECONDS: Readonly<Record<string, number>> = {
  web: 1900,
  e2e: 2000,
  deploy: 700,
  http: 680,
  clients: 330,
  engines: 260,
  kill: 210,
  commands: 190,
  limits: 170,
  text: 160,
  generation: 150,
  media: 140,
  callbacks: 110,
  standalone: 100,
  telemetry: 100,
  attack: 100,
  tasks: 80,
  providers: 80,
  workflows: 70,
  egress: 60,
  database: 50,
};
