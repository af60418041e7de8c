/** What is wrong with a cursor that no list returned, behind the name of the parameter. One text for every list. */
export const UNKNOWN_CURSOR = 'unknown cursor: use the `nextCursor` of the previous page';
