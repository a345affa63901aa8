import { tableKey } from '../../../lib/jobd/source/local-polls.js';
import { describe, expect, it } from '@jest/globals';
import { parseDatabaseUrl } from '../../../lib/jobd/storage/database-location.js';
import { canSkipLocked } from '../../../lib/jobd/storage/database.js';
import { tableNames } from '../../../lib/jobd/storage/schema.js';

describe('parseDatabaseUrl', () => {
  it.each([
    '',
    'jobs',
    'redis://u:s3cret@host/db',
    'constructor://u:s3cret@host/db',
    'mysql://u:s3cret@/db',
    'mysql://u:s3cret@host',
    'mysql://u:s3cret@host/a/b',
    'mysql://u:s3cret@host:99999999/db',
    'mysql://u:s3cret%zz@host/db',
    'mysql://u:s3cret@host/db?ssl=1',
    'mysql://u:s3cret@host/db?tls=yes',
    'sqlite:',
    'sqlite://',
    'sqlite:/a%zz',
  ])('refuses %j, and never says the password', (url) => {
    let message = '';
    try {
      parseDatabaseUrl(url);
    } catch (error) {
      message = String(error);
    }
    expect(message).toContain('`database` must be a URL');
    expect(message).not.toContain('s3cret');
  });

  it('reads servers and files', () => {
    expect(parseDatabaseUrl('mysql://u%40x:p%2Fw@db.example:3307/jobs?tls=true')).toEqual({
      dialect: 'mysql',
      host: 'db.example',
      port: 3307,
      user: 'u@x',
      password: 'p/w',
      database: 'jobs',
      tls: true,
    });
    expect(parseDatabaseUrl('postgres://db/jobs?tls_ca=%2Fetc%2Fca.pem')).toMatchObject({
      tls: true,
      tlsCa: '/etc/ca.pem',
    });
    const plain = { host: '::1', database: 'db', tls: false };
    expect(parseDatabaseUrl('postgresql://[::1]/db')).toEqual({ dialect: 'postgres', ...plain });
    expect(parseDatabaseUrl('mariadb://[::1]/db')).toEqual({ dialect: 'mysql', ...plain });
    expect(parseDatabaseUrl('sqlite:/var/lib/jobs.db')).toEqual({
      dialect: 'sqlite',
      path: '/var/lib/jobs.db',
    });
    expect(parseDatabaseUrl('sqlite:///a%20b.db')).toEqual({ dialect: 'sqlite', path: '/a b.db' });
    expect(parseDatabaseUrl('sqlite:jobs.db')).toEqual({ dialect: 'sqlite', path: 'jobs.db' });
  });
});

describe('tableKey', () => {
  it('is the same for the same table, whether its port is named or not', () => {
    expect(tableKey('mysql://me@db/app', 'jobs')).toBe(tableKey('mysql://other:pw@db:3306/app', 'jobs'));
    expect(tableKey('postgres://db/app', 'jobs')).toBe(tableKey('postgres://db:5432/app', 'jobs'));
    expect(tableKey('mysql://db:3307/app', 'jobs')).not.toBe(tableKey('mysql://db/app', 'jobs'));
  });
});

describe('tableNames', () => {
  it.each(['', 'a b', 'a`b', 'a"b', 'a.b.c', '.a', 'x'.repeat(49)])('refuses %j', (name) => {
    expect(() => tableNames(name)).toThrow('Expected `table`');
  });

  it('names ours after it', () => {
    expect(tableNames('app.my-jobs')).toEqual({
      jobs: 'app.my-jobs',
      owners: 'app.my-jobs_owners',
      daemons: 'app.my-jobs_daemons',
    });
  });
});

describe('canSkipLocked', () => {
  it.each([
    ['5.7.44', false],
    ['8.0.0', false],
    ['8.0.1', true],
    ['8.4.3', true],
    ['9.0.1', true],
    ['10.5.23-MariaDB', false],
    ['10.6.0-MariaDB-log', true],
    ['11.4.2-MariaDB', true],
    ['', false],
  ])('%s: %s', (version, expected) => {
    expect(canSkipLocked(version)).toBe(expected);
  });
});
