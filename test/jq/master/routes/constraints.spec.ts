import { describe, expect, it } from '@jest/globals';
import { encode } from '@msgpack/msgpack';
import { useRoutes } from './use-routes.js';

describe('the routes of constraints', () => {
  const routes = useRoutes();
  const { master } = routes;

  const constraint = { match: [{ field: 'name', equal: 'mail' }], rate: { count: 1, period: 60 } };

  it('are created, read, changed and deleted', async () => {
    const created = await master.post('/constraints', constraint);
    expect(created).toMatchObject({ status: 201, body: constraint });
    const { id } = created.body as { id: string };
    await expect(master.call('GET', '/constraints')).resolves.toMatchObject({
      body: { constraints: [{ id, ...constraint }] },
    });
    const changed = { match: [], per: 'argument.tenant', concurrency: 2 };
    const put = await master.call('PUT', `/constraints/${id}`, { body: encode(changed) });
    expect(put).toMatchObject({ status: 200, body: { id, ...changed } });
    expect(put.body).not.toHaveProperty('rate');
    await expect(master.call('GET', `/constraints/${id}`)).resolves.toMatchObject({
      body: { id, ...changed },
    });
    await expect(master.call('DELETE', `/constraints/${id}`)).resolves.toMatchObject({ status: 204 });
    for (const method of ['GET', 'DELETE', 'PUT']) {
      const call = method === 'PUT' ? { body: encode(changed) } : {};
      await expect(master.call(method, `/constraints/${id}`, call)).resolves.toMatchObject({ status: 404 });
    }
  });

  it('hold on every master as soon as they are there', async () => {
    const other = await master.another();
    await other.enqueue();
    await master.post('/constraints', constraint);
    for (const each of [master, other]) await each.enqueue();
    await expect(master.pull(routes.worker)).resolves.toMatchObject({ status: 200 });
    await expect(other.pull(routes.worker)).resolves.toMatchObject({ status: 204 });
    await expect(master.pull(routes.worker)).resolves.toMatchObject({ status: 204 });
  });
});
