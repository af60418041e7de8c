/**
 * What the files of a group may take together, in seconds on two idle cores. A group that takes more is marked at the
 * end of a run, which does not fail: a change that exceeds its budget makes its group faster, or moves tests to
 * test/wide.
 */
export const TEST_BUDGET_SECONDS: Readonly<Record<string, number>> = {};
