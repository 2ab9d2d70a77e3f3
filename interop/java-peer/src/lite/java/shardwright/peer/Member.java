package shardwright.peer;

import org.apache.shardingsphere.elasticjob.api.JobConfiguration;
import org.apache.shardingsphere.elasticjob.lite.api.bootstrap.JobBootstrap;
import org.apache.shardingsphere.elasticjob.lite.api.bootstrap.impl.OneOffJobBootstrap;
import org.apache.shardingsphere.elasticjob.lite.api.bootstrap.impl.ScheduleJobBootstrap;
import org.apache.shardingsphere.elasticjob.lite.lifecycle.api.JobAPIFactory;
import org.apache.shardingsphere.elasticjob.reg.base.CoordinatorRegistryCenter;
import org.apache.shardingsphere.elasticjob.reg.zookeeper.ZookeeperConfiguration;
import org.apache.shardingsphere.elasticjob.reg.zookeeper.ZookeeperRegistryCenter;

/** A member of a job, by ElasticJob 3.0.4 and its kin. */
final class Member {

    private final Settings settings;
    private final Events events;
    private CoordinatorRegistryCenter registry;
    private JobBootstrap bootstrap;

    Member(final Settings settings, final Events events) {
        this.settings = settings;
        this.events = events;
    }

    void connect() {
        final var where = new ZookeeperConfiguration(settings.hosts(), settings.namespace());
        where.setSessionTimeoutMilliseconds(settings.session());
        where.setDigest(settings.digest());
        registry = new ZookeeperRegistryCenter(where);
        registry.init();
    }

    /** Be in the job; the constructors register, and {@code schedule} only starts the clock. */
    void join() throws ReflectiveOperationException {
        final var job = Class.forName(settings.className()).asSubclass(RecordingJob.class)
                .getDeclaredConstructor(Events.class, long.class).newInstance(events, settings.length());
        RecordingListener.events = events;
        if (settings.cron() == null) {
            bootstrap = new OneOffJobBootstrap(registry, job, configuration());
            return;
        }
        final var scheduled = new ScheduleJobBootstrap(registry, job, configuration());
        scheduled.schedule();
        bootstrap = scheduled;
    }

    void trigger() {
        JobAPIFactory.createJobOperateAPI(settings.hosts(), settings.namespace(), settings.digest())
                .trigger(settings.job());
    }

    void leave() {
        bootstrap.shutdown();
        registry.close();
    }

    private JobConfiguration configuration() {
        final var config = JobConfiguration.newBuilder(settings.job(), settings.shards())
                .failover(settings.failover())
                .monitorExecution(settings.monitor())
                .misfire(settings.misfire())
                .overwrite(settings.overwrite())
                .staticSharding(settings.staticSharding());
        if (settings.cron() != null) {
            config.cron(settings.cron());
        }
        if (settings.strategy() != null) {
            config.jobShardingStrategyType(settings.strategy());
        }
        if (settings.parameters() != null) {
            config.shardingItemParameters(settings.parameters());
        }
        if (settings.once()) {
            config.jobListenerTypes(RecordingListener.TYPE);
        }
        return config.build();
    }
}
