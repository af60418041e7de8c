/** Where the database is: through a pooler for everything that needs no session, and past it for what does. */
import type { DatabaseConfig, DatabaseVariable } from './config.ts';
import type { EnvironmentReader } from './environment.ts';

export function readDatabase(read: EnvironmentReader): DatabaseConfig {
  const isPooled = read.text('DATABASE_POOLER') === 'transaction';
  const statements = read.text('DATABASE_STATEMENTS');
  // Only `migrate` connects to it, but each process reports that it is wrong.
  readUrl(read, 'DATABASE_DIRECT_URL');
  return {
    url: readUrl(read, 'DATABASE_URL'),
    poolSize: read.integer('DATABASE_POOL_SIZE'),
    isPooled,
    preparesStatements: statements === '' ? !isPooled : statements === 'named',
  };
}

/** The database as `migrate` reaches it, which needs no other address if it has this one. */
export function readDirectDatabase(read: EnvironmentReader): DatabaseConfig {
  const poolSize = read.integer('DATABASE_POOL_SIZE');
  const direct = readUrl(read, 'DATABASE_DIRECT_URL');
  if (direct !== '') return { url: direct, poolSize, variable: 'DATABASE_DIRECT_URL' };
  if (read.text('DATABASE_POOLER') === 'transaction') {
    read.report(
      'DATABASE_DIRECT_URL is not set: with DATABASE_POOLER, this command needs the address of PostgreSQL itself, because it uses a session of its own',
    );
  }
  return { url: readUrl(read, 'DATABASE_URL'), poolSize };
}

function readUrl(read: EnvironmentReader, name: DatabaseVariable): string {
  const url = read.text(name);
  // Any other text would be resolved as a host name.
  if (url !== '' && !/^postgres(?:ql)?:\/\//.test(url)) {
    read.report(`${name}: want postgres://user:password@host/database`);
  }
  return url;
}
