/** Which statements something runs. */
import type { Database, Queryable, Statement } from '../../src/database/database.ts';

/** The same database; the statements that it runs are added to a list. */
export function recording(database: Database, into: Map<string, Statement>): Database {
  const recorded = (queryable: Queryable): Queryable => ({
    query(statement, values) {
      into.set(statement.name, statement);
      return queryable.query(statement, values);
    },
  });
  return {
    ...database,
    ...recorded(database),
    transaction: (work) => database.transaction((transaction) => work(recorded(transaction))),
  };
}
