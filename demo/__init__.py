"""The demonstration: three processes share a job, one is killed, and one sees what becomes of its work.

make demo                       on an embedded registry
make demo REGISTRY=zookeeper    on a ZooKeeper server, started for it
"""
